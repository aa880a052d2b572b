import CofferDocuments
import Testing

@testable import CofferFormats

/// Documents read from a property list.
@Suite struct PropertyListDocumentTests {
  private func source(
    _ value: String, content: PropertyListSource.Content = .automatic, mapping: String? = nil,
    options: ReadingOptions = ReadingOptions()
  ) -> PropertyListSource {
    PropertyListSource(
      MemoryByteSource("<plist version=\"1.0\">\(value)</plist>"), content: content,
      mapping: mapping.map { ColumnMapping(parsing: $0)! } ?? ColumnMapping(), options: options)
  }

  private func row(_ id: String?, _ members: String) -> String {
    "<dict>" + (id.map { "<key>wgFileDbSecretId</key><string>\($0)</string>" } ?? "") + members + "</dict>"
  }

  private func table(_ rows: [String], index: [(String, String)]) -> String {
    let entries = index.map { "<key>\($0)</key><string>\($1)</string>" }.joined()
    return """
      <dict><key>autoincrement</key><string>9</string><key>data</key><array>\(rows.joined())</array>\
      <key>index</key><dict>\(entries)</dict></dict>
      """
  }

  private let title = "<key>title</key><string>T</string>"
  private let text = "<key>text</key><string>X</string>"

  @Test func readsDictionariesAsDocuments() throws {
    let read = try drafts(
      source("<array><dict>\(title)\(text)</dict><dict>\(title)<key>n</key><integer>1</integer></dict><dict/></array>"))
    #expect(read.map(\.text) == ["X", "{\"title\":\"T\",\"n\":1}", "{}"])
    #expect(read.map(\.title) == ["T", "T", nil])
    #expect(read.map(\.record) == [1, 2, 3])
  }

  @Test func readsOtherArraysAsSingleDocument() throws {
    #expect(try drafts(source("<array><dict/><string>a</string></array>")).map(\.text) == ["[{},\"a\"]"])
  }

  @Test func readsDictionaryAsSingleDocument() throws {
    let read = try drafts(source("<dict><key>name</key><string>N</string><key>a</key><true/></dict>"))
    #expect(read.map(\.text) == ["{\"name\":\"N\",\"a\":true}"])
    #expect(read.map(\.title) == ["N"])
    let ours = try drafts(source("<dict>\(text)<key>created</key><date>2004-10-26T10:33:33Z</date></dict>"))
    #expect(ours.map(\.text) == ["X"])
    #expect(ours.map(\.created) == [1_098_786_813_000])
  }

  @Test func mapsMembers() throws {
    let read = try drafts(
      source(
        "<array><dict><key>a</key><string>A</string><key>b</key><data>AA==</data></dict></array>", mapping: "text=a"))
    #expect(read.map(\.text) == ["A"])
    #expect(read.map(\.attributes) == ["{\"b\":{\"$base64\":\"AA==\"}}"])
  }

  @Test func attachesListedFilesAndData() throws {
    let folder = try TemporaryDirectory()
    try folder.write([1], to: "a")
    var options = ReadingOptions()
    options.attachments = try AttachmentFiles(path: folder.path)
    options.attachesData = true
    let entries = ["<key>file</key><string>a</string>", ""].map {
      "<dict><key>name</key><string>listed</string>\($0)</dict>"
    }
    let listed = "\(text)<key>attachments</key><array>\(entries.joined())</array>"
    var source = source(
      "<array><dict>\(listed)<key>photo</key><data>AA==</data></dict><dict>\(listed)</dict></array>", options: options)
    var batch = DraftBatch()
    _ = try source.read(into: &batch)
    let names = batch.drafts.map { batch.attachments[$0.attachments].map(\.name) }
    #expect(names == [["listed", "photo"], ["listed"]])
    #expect(source.report.attachments == 3 && source.report.attachmentsWithoutContent == 2)
  }

  // MARK: Ordered tables

  @Test func usesTableIDsAsKeys() throws {
    let value = table(
      [row("2", title + text), row("10", "<key>n</key><real>1</real>"), row("1", title)],
      index: [("1", "2"), ("10", "1"), ("2", "0")])
    let read = try drafts(source(value))
    #expect(read.map(\.keyText) == ["2", "10", "1"])
    #expect(
      read.map(\.text) == [
        "X", "{\"wgFileDbSecretId\":\"10\",\"n\":1.0}", "{\"wgFileDbSecretId\":\"1\",\"title\":\"T\"}",
      ])
    #expect(read.map(\.title) == ["T", nil, "T"])
    let kept = try drafts(source(value, options: ReadingOptions(keepsIDs: true)))
    #expect(kept.map(\.id) == [2, 10, 1])
    #expect(kept.map(\.key) == [nil, nil, nil])
  }

  @Test func followsIndexOrder() throws {
    let value = table([row("1", ""), row("2", ""), row("3", "")], index: [("1", "2"), ("2", "0"), ("3", "1")])
    #expect(try drafts(source(value)).map(\.keyText) == ["2", "3", "1"])
  }

  @Test func ordersUnindexedRowsLast() throws {
    let value = table([row("7", ""), row(nil, ""), row("1", "")], index: [("1", "0"), ("5", "1")])
    #expect(try drafts(source(value)).map(\.keyText) == ["1", "5", "7"])
  }

  @Test(arguments: [true, false]) func skipsOnlyInvalidTableRow(keepsIDs: Bool) throws {
    let value = table(
      [
        row("1", text), "<dict><key>n</key><integer>x</integer><key>wgFileDbSecretId</key><string>2</string></dict>",
        row("3", text),
      ], index: [("1", "0"), ("2", "1"), ("3", "2")])
    let rejections = Rejections()
    let read = try drafts(source(value, options: rejections.options { $0.keepsIDs = keepsIDs }))
    #expect(read.map(\.text) == ["X", "X"])
    #expect(read.map { $0.keyText ?? $0.id.map(String.init) } == ["1", "3"])
    #expect(rejections.all.map(\.record) == [2])
  }

  @Test func keepingIDsRejectsInvalidIDs() throws {
    let value = table([row("a", text)], index: [])
    #expect(try drafts(source(value)).map(\.keyText) == ["a"])
    #expect(failure(source(value, options: ReadingOptions(keepsIDs: true)))?.code == .malformed)
  }

  @Test func mappedRowsExcludeIDFromAttributes() throws {
    let value = table([row("4", "<key>a</key><string>A</string><key>b</key><true/>")], index: [("4", "0")])
    let read = try drafts(source(value, mapping: "text=a"))
    #expect(read.map(\.attributes) == ["{\"b\":true}"])
    #expect(read.map(\.keyText) == ["4"])
  }

  @Test func readsSimilarDictionaryAsSingleDocument() throws {
    let other = "<dict><key>autoincrement</key><string>9</string><key>data</key><array><string>a</string></array>"
    #expect(try drafts(source(other + "<key>index</key><dict/></dict>")).count == 1)
    #expect(try drafts(source(other + "<key>index</key><dict/><key>x</key><true/></dict>")).count == 1)
    let empty = table([], index: [])
    #expect(try drafts(source(empty)).isEmpty)
  }

  // MARK: Keyed archives

  @Test(arguments: ["<array/>", "<dict/>", "<true/>"])
  func rejectsPlainValuesAsKeyedArchive(value: String) {
    #expect(failure(source(value, content: .keyedArchive))?.code == .malformed)
  }
}

/// Invalid elements of an XML list, which don't affect the other elements.
@Suite struct XMLListFaultTests {
  private func read(_ list: String) throws -> (texts: [String], rejections: [Rejection]) {
    let rejections = Rejections()
    let documents = try drafts(PropertyListSource(MemoryByteSource(list), options: rejections.options()))
    return (documents.compactMap(\.text), rejections.all)
  }

  private func record(_ text: String) -> String { "<dict><key>text</key><string>\(text)</string></dict>" }

  @Test(arguments: [
    "<bogus/>", "<bogus><dict/>text<!-- c --></bogus>", "<date>rubbish</date>", "<integer>x</integer>", "<key>k</key>",
    "<data>?</data>", "<true>x</true>",
  ])
  func skipsOnlyInvalidElement(_ wrong: String) throws {
    for place in 0...3 {
      var elements = (0..<3).map { record("text \($0)") }
      elements.insert(wrong, at: place)
      let (texts, rejections) = try read("<plist version=\"1.0\"><array>\(elements.joined())</array></plist>")
      #expect(texts == ["text 0", "text 1", "text 2"])
      #expect(rejections.map { $0.error.location?.record } == [place + 1])
    }
  }

  @Test(arguments: ["<!-- x -- y -->", "<bogus>", "</dict>", "&amp;", "<bogus></other>"])
  func malformedXMLEndsListWithOneRejection(_ wrong: String) throws {
    let (texts, rejections) = try read(
      "<plist version=\"1.0\"><array>\(record("a"))\(wrong)\(record("b"))</array></plist>")
    #expect(texts == ["a"] && rejections.count == 1)
  }

  @Test func invalidIndexEntryKeepsRows() throws {
    let rows = (1...3).map {
      "<dict><key>wgFileDbSecretId</key><string>\($0)</string><key>text</key><string>t\($0)</string></dict>"
    }
    let list = """
      <plist version="1.0"><dict><key>autoincrement</key><integer>4</integer><key>data</key><array>\(rows.joined())</array>\
      <key>index</key><dict><key>1</key><integer>2</integer><key>2</key><integer>x</integer><key>3</key><integer>1</integer>\
      </dict></dict></plist>
      """
    #expect(try read(list).rejections.isEmpty)
    #expect(try drafts(PropertyListSource(MemoryByteSource(list))).count == 3)
  }

  @Test func reportsColumnsOfRecordsOnOneLine() throws {
    let count = 300
    let element = "<dict><key>text</key><bogus/></dict>é"
    let head = "<plist version=\"1.0\"><array>"
    let list = head + String(repeating: element.replacing("é", with: "<!--é-->"), count: count) + "</array></plist>"
    let rejections = Rejections()
    _ = try drafts(
      PropertyListSource(
        MemoryByteSource(list), options: rejections.options()))
    #expect(rejections.all.count == count)
    let columns = rejections.all.compactMap { $0.error.location?.column }
    let steps = Set(zip(columns.dropFirst(), columns).map { $0 - $1 })
    #expect(columns.count == count && steps == [44])
  }
}
