internal import CofferDocuments
internal import CofferPropertyLists

/// Recognizes documents that were rows of an ordered table and can be restored as rows.
enum PropertyListRow {
  /// Returns whether reading the text as a row restores the ID, the text and the title.
  static func restores(_ document: OpenedDocument) -> Bool {
    let text = document.utf8
    guard document.header.isJSON, text.first == JSONByte.openBrace, let id = id(in: text),
      id.elementsEqual(document.header.id.description.utf8)
    else { return false }
    var scanner = JSONScanner(text)
    var writer = BinaryPropertyListWriter(MemoryByteSink())
    guard (try? writer.begin()) != nil, let top = try? writer.append(json: &scanner), scanner.next == nil,
      (try? writer.finish(top: top)) != nil, let made = PropertyList.json(ofBinary: writer.output.sink.bytes),
      made.elementsEqual(text)
    else { return false }
    return isNamed(document)
  }

  /// Returns the row's ID, if it's a string.
  private static func id(in text: UnsafeRawBufferPointer) -> [UInt8]? {
    var scanner = JSONScanner(text)
    var id: [UInt8]?
    try? scanner.forEachMember { name, value, scanner in
      guard id == nil, scanner.equals(name, PropertyList.rowIDName), case .string(let token) = value.content else {
        return
      }
      id = scanner.value(of: token)
    }
    return id
  }

  /// Returns whether reading the row restores the document's title without adding a key.
  private static func isNamed(_ document: OpenedDocument) -> Bool {
    var parser = JSONDocumentParser(mapping: ColumnMapping(), options: ReadingOptions(keepsIDs: true))
    parser.passedOver = PropertyList.rowIDName
    var output = RecordOutput()
    output.generatedBase = document.utf8.count
    var scanner = JSONScanner(document.utf8)
    do throws(JSONError) {
      guard try parser.read(&scanner, document.utf8, into: &output) == nil else { return false }
    } catch {
      return false
    }
    // A row with a text is a document.
    guard output.isValue, output.draft.text == 0..<document.utf8.count else { return false }
    func bytes(_ range: Range<Int>) -> [UInt8] {
      let base = output.generatedBase
      return range.lowerBound < base
        ? Array(document.utf8[range]) : Array(output.generated[range.lowerBound - base..<range.upperBound - base])
    }
    if let key = output.draft.key, document.header.key?.bytes != bytes(key) { return false }
    guard let title = output.draft.title else {
      return document.header.title.isIdentical(to: TitleRule.derived.title(forUTF8: document.utf8, isJSON: true))
    }
    return document.header.title.map { bytes(title).elementsEqual($0.utf8) } ?? false
  }
}
