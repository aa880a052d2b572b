internal import CofferDocuments
internal import CofferPropertyLists

/// Recognises documents that were rows of an ordered table and can be written as those rows again.
enum PropertyListRow {
  /// True when reading the text as a row gives back the same document: id, text and title.
  static func restores(_ document: OpenedDocument) -> Bool {
    let text = document.utf8
    guard text.first == JSONByte.openBrace, let id = id(in: text), id.elementsEqual(document.header.id.description.utf8)
    else { return false }
    var scanner = JSONScanner(text)
    var writer = BinaryPropertyListWriter(MemoryByteSink())
    guard (try? writer.begin()) != nil, let top = try? writer.append(json: &scanner), scanner.next == nil,
      (try? writer.finish(top: top)) != nil, let made = PropertyList.json(ofBinary: writer.output.sink.bytes),
      made.elementsEqual(text)
    else { return false }
    return isTitled(document)
  }

  /// The row's id, if it is a string.
  private static func id(in text: UnsafeRawBufferPointer) -> [UInt8]? {
    var scanner = JSONScanner(text)
    do throws(JSONError) {
      try scanner.openObject(depth: 1)
      var isFirst = true
      while let name = try scanner.nextName(isFirst: isFirst) {
        isFirst = false
        let value = try scanner.scanMemberValue()
        if scanner.equals(name, PropertyList.rowIDName), case .string(let token) = value.content {
          return scanner.value(of: token)
        }
      }
    } catch {
      return nil
    }
    return nil
  }

  /// Reading the row gives the document's title.
  private static func isTitled(_ document: OpenedDocument) -> Bool {
    var parser = JSONDocumentParser(
      mapping: ColumnMapping(), keepsIDs: true, passingOver: PropertyList.rowIDName)
    var output = RecordOutput()
    output.generatedBase = document.utf8.count
    var scanner = JSONScanner(document.utf8)
    do throws(JSONError) {
      guard try parser.read(&scanner, document.utf8, into: &output) == nil else { return false }
    } catch {
      return false
    }
    // The text differs where the row is itself one of our own JSON records.
    guard output.draft.text == 0..<document.utf8.count else { return false }
    guard let title = output.draft.title else {
      return document.header.title == TitleRule.derivedTitle(fromUTF8: document.utf8)
    }
    let bytes =
      title.lowerBound < output.generatedBase
      ? Array(document.utf8[title])
      : Array(output.generated[title.lowerBound - output.generatedBase..<title.upperBound - output.generatedBase])
    return document.header.title.map { bytes.elementsEqual($0.utf8) } ?? false
  }
}
