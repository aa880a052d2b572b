internal import CofferDocuments

/// A document that was made of a row of an ordered table, and can be written as that row again.
struct PropertyListRow {
  /// Whether reading the text as a row gives the document back as it is: its id, text and title.
  static func stands(for document: OpenedDocument) -> Bool {
    let text = document.utf8
    guard text.first == JSONByte.openBrace, let id = id(in: text), id.elementsEqual(document.header.id.description.utf8)
    else { return false }
    var scanner = JSONScanner(text)
    var writer = BinaryPropertyListWriter(MemoryByteSink())
    guard (try? writer.begin()) != nil, let top = try? writer.append(json: &scanner), scanner.next == nil,
      (try? writer.finish(top: top)) != nil, let made = json(of: writer.output.sink.bytes),
      made.elementsEqual(text)
    else { return false }
    return isTitled(document)
  }

  /// The row's own id, when it has one that is a string.
  private static func id(in text: UnsafeRawBufferPointer) -> [UInt8]? {
    var scanner = JSONScanner(text)
    do throws(JSONError) {
      try scanner.openObject(depth: 1)
      var isFirst = true
      while let name = try scanner.nextName(isFirst: isFirst) {
        isFirst = false
        let value = try scanner.scanMemberValue()
        if scanner.equals(name, PropertyListLayout.rowID), case .string(let token) = value.content {
          return scanner.value(of: token)
        }
      }
    } catch {
      return nil
    }
    return nil
  }

  private static func json(of list: [UInt8]) -> [UInt8]? {
    list.withUnsafeBytes { file in
      var json: [UInt8] = []
      do throws(PropertyListFault) {
        let trailer = try BinaryPropertyListTrailer(file, base: 0)
        var reader = BinaryPropertyListReader(
          file, base: 0, trailer: trailer, budget: PropertyListBudget(inputByteCount: file.count))
        var writer = PropertyListJSON()
        try writer.append(&reader, to: &json)
        return json
      } catch {
        return nil
      }
    }
  }

  /// The title is the one that reading the row gives.
  private static func isTitled(_ document: OpenedDocument) -> Bool {
    var parser = JSONDocumentParser(
      mapping: ColumnMapping(), keepsIDs: true, passingOver: PropertyListLayout.rowID)
    var output = RecordOutput()
    output.madeBase = document.utf8.count
    var scanner = JSONScanner(document.utf8)
    do throws(JSONError) {
      guard try parser.read(&scanner, document.utf8, into: &output) == nil else { return false }
    } catch {
      return false
    }
    // A row that is one of our own documents is told apart by its text.
    guard output.draft.text == 0..<document.utf8.count else { return false }
    guard let title = output.draft.title else {
      return document.header.title == TitleRule.derivedTitle(fromUTF8: document.utf8)
    }
    let bytes =
      title.lowerBound < output.madeBase
      ? Array(document.utf8[title])
      : Array(output.made[title.lowerBound - output.madeBase..<title.upperBound - output.madeBase])
    return document.header.title.map { bytes.elementsEqual($0.utf8) } ?? false
  }
}
