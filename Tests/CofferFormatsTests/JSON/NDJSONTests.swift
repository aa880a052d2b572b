import CofferDocuments
import CofferText
import Testing

@testable import CofferFormats

@Suite struct NDJSONTests {
  private func source(
    _ text: String, mapping: String? = nil, options: ReadingOptions = ReadingOptions()
  ) -> NDJSONSource {
    NDJSONSource(
      MemoryByteSource(text), mapping: mapping.map { ColumnMapping(parsing: $0)! } ?? ColumnMapping(), options: options)
  }

  // MARK: Malformed input

  @Test func reportsLocationOfMalformedLine() {
    let error = failure(source("{\"title\":\"ä\",\"text\":\"b\"}\n\n{\"title\":\"é\",\"text\"\n"))
    #expect(error?.code == .malformed)
    #expect(error?.location == InputLocation(record: 2, line: 3, column: 20, byteOffset: 47))
  }

  @Test(arguments: ["{} {}", "[1,]", "{\"text\":\"\\ud800\"}", "nul", "{\"a\":1}}"])
  func rejectsInvalidLines(line: String) {
    #expect(failure(source(line))?.code == .malformed)
  }

  @Test func rejectsDuplicateMembers() {
    #expect(failure(source("{\"text\":\"a\",\"text\":\"b\"}"))?.code == .malformed)
    #expect(failure(source("{\"text\":\"a\",\"title\":\"b\",\"t\\u0069tle\":\"c\"}"))?.code == .malformed)
    #expect(failure(source("{\"text\":\"a\",\"attributes\":{\"x\":1,\"x\":1}}"))?.code == .malformed)
  }

  @Test(arguments: [
    "\"\"", "\"\(String(repeating: "k", count: 1025))\"", "{\"$base64\":\"A\"}", "{\"$base64\":\"!!!!\"}",
  ])
  func rejectsInvalidKeys(key: String) {
    #expect(failure(source("{\"text\":\"a\",\"key\":\(key)}"))?.code == .malformed)
  }

  @Test func rejectsDeepNesting() {
    #expect(failure(source(String(repeating: "[", count: 100_000)))?.code == .malformed)
  }

  @Test func skipsOnlyInvalidLines() throws {
    let rejections = Rejections()
    let text = "{\"text\":\"a\"}\n{\"text\n{\"text\":\"b\"}\n\nx\n{\"text\":\"c\"}"
    var source = source(text, options: rejections.options())
    #expect(try drafts(&source).map(\.text) == ["a", "b", "c"])
    #expect(rejections.all.map { String(decoding: $0.bytes, as: UTF8.self) } == ["{\"text\n", "x\n"])
    #expect(rejections.all.map { $0.error.location?.line } == [2, 5])
    #expect(rejections.all.map { $0.error.location?.record } == [2, 4])
    #expect(source.report.headBytes.isEmpty)
  }

  @Test func rejectsOnlyLineWithInvalidBytes() throws {
    let rejections = Rejections()
    let bytes = Array("{\"text\":\"a\"}\n{\"text\":\"".utf8) + [0xC3, 0x28] + Array("\"}\n{\"text\":\"b\"}\n".utf8)
    let options = rejections.options { $0.encoding = .fixed(.utf8) }
    #expect(try drafts(NDJSONSource(MemoryByteSource(bytes), options: options)).map(\.text) == ["a", "b"])
    #expect(rejections.all.map(\.error.code) == [.undecodable])
    #expect(rejections.all.first?.error.location?.byteOffset == 22)
  }

  // MARK: Exported records

  @Test func readsCompleteExportedRecord() throws {
    let read = try drafts(
      source(
        """
        {"collection":"nötes","id":12,"position":-4294967296,"title":"T\\n","text":"a\\u00e9\\ud83d\\ude00\\u0000b","key":"k",\
        "created":"2026-11-21T14:35:00.123Z","modified":"2026-11-21T23:59:59.999Z",\
        "attributes":{"b": 1.0, "a":[]},"parent":3,"json":true}
        """))
    #expect(read.count == 1)
    #expect(read[0].id == 12)
    #expect(read[0].collection == "nötes")
    #expect(read[0].title == "T\n")
    #expect(read[0].text == "aé😀\0b")
    #expect(read[0].keyText == "k")
    #expect(read[0].created == 1_795_271_700_123)
    #expect(read[0].modified == 1_795_305_599_999)
    #expect(read[0].attributes == "{\"a\":[],\"b\":1}")
    #expect(read[0].parent == 3)
    #expect(read[0].isJSON)
    #expect(read[0].isComplete)
  }

  @Test func readsBase64Keys() throws {
    let read = try drafts(
      source("{\"text\":\"a\",\"key\":{\"$base64\":\"/wD+\"}}\n{\"text\":\"\",\"key\":{\"$base64\":\"/w==\"}}"))
    #expect(read.map(\.key) == [[0xFF, 0x00, 0xFE], [0xFF]])
    #expect(read.map(\.isComplete) == [false, false])
  }

  @Test func recognizesEscapedMemberNames() throws {
    let read = try drafts(source("{\"te\\u0078t\":\"a\",\"\\u0069d\":4}"))
    #expect(read[0].text == "a")
    #expect(read[0].id == 4)
  }

  // MARK: Other records

  @Test(arguments: [
    "{\"title\":\"x\"}", "{\"text\":null}", "{\"text\":null,\"attributes\":[],\"json\":1}", "{}", "[1, 2]", "\"text\"",
    "12.50", "null", "true", "{\"a\":1,\"a\":2}", "{\"n\":9007199254740993}",
  ])
  func keepsRecordsWithoutTextAsValues(line: String) throws {
    var source = source("  \(line) \r\n")
    let read = try drafts(&source)
    #expect(read.map(\.text) == [line])
    #expect(read.map(\.isJSON) == [true])
    #expect(read[0].id == nil)
    #expect(read[0].key == nil)
    #expect(read[0].attributes == nil)
    #expect(source.report.values == 1)
  }

  @Test(
    arguments: [
      ("{\"name\":\"n\",\"x\":1}", "n"), ("{\"title\":\"t\\n\",\"name\":\"n\"}", "t\n"),
      ("{\"title\":1,\"name\":\"n\"}", "n"),
      ("{\"title\":null,\"name\":2}", nil), ("[\"title\"]", nil),
    ] as [(String, String?)])
  func findsTitleInTitleOrName(line: String, title: String?) throws {
    #expect(try drafts(source(line)).map(\.title) == [title])
  }

  @Test func preservesFormattingFromUTF16() throws {
    let line = "{ \"ä\" : [1.50, \"\\u00e9\", \"😀\"] }"
    let read = try drafts(NDJSONSource(MemoryByteSource(utf16("\(line)\r\n", mark: true), chunk: 5)))
    #expect(read.map(\.text) == [line])
  }

  @Test func readsAttachmentsOfParts() throws {
    let folder = try TemporaryDirectory()
    try folder.write([1, 2], to: "p.png")
    var options = ReadingOptions()
    options.attachments = try AttachmentFiles(path: folder.path)
    let line = "{\"title\":\"T\",\"attachments\":[{\"name\":\"photo.png\",\"file\":\"p.png\"}]}"
    var source = source(line, options: options)
    var batch = DraftBatch()
    _ = try source.read(into: &batch)
    #expect(batch.attachments.isEmpty)
    let parts = try Array(line.utf8).withUnsafeBytes { try batch.readParts?($0, 1) }
    let read = try #require(parts)
    #expect(read.drafts.map { read.attachments[$0.attachments].map(\.name) } == [["photo.png"]])
    #expect(read.drafts[0].text == nil)
  }

  // MARK: Mapped members

  @Test func mapsMembersToParts() throws {
    let line =
      "{\"nr\":\"A-1\",\"headline\":\"H\\u00e9\",\"content\":\"C\\n\",\"id\":7,\"z\":{\"b\":1,\"a\":2},\"n\":null}"
    let read = try drafts(source(line, mapping: "text=content,title=headline,key=nr"))
    #expect(read[0].text == "C\n")
    #expect(read[0].title == "Hé")
    #expect(read[0].keyText == "A-1")
    #expect(read[0].id == 7)
    #expect(read[0].attributes == "{\"id\":7,\"n\":null,\"z\":{\"a\":2,\"b\":1}}")
  }

  @Test func keepsSourceOfMappedText() throws {
    let read = try drafts(source("{\"content\":[1, 2],\"key\":5}\n{\"content\":null}", mapping: "text=content"))
    #expect(read.map(\.text) == ["[1, 2]", "{\"content\":null}"])
    #expect(read.map(\.isJSON) == [true, true])
    #expect(read.map(\.keyText) == ["5", nil])
  }

  @Test func keepingIDsRejectsInvalidIDs() throws {
    let line = "{\"nr\":\"x\",\"text\":\"a\"}"
    #expect(try drafts(source(line, mapping: "id=nr")).map(\.id) == [nil])
    let options = ReadingOptions(keepsIDs: true)
    #expect(failure(source(line, mapping: "id=nr", options: options))?.code == .malformed)
    #expect(try drafts(source("{\"nr\":\"12\",\"text\":\"a\"}", mapping: "id=nr", options: options)).map(\.id) == [12])
  }

  @Test func mappingOnlyTitleKeepsSource() throws {
    let line = "{\"label\":\"L\",\"x\":1}"
    let read = try drafts(source(line, mapping: "title=label"))
    #expect(read.map(\.text) == [line])
    #expect(read.map(\.title) == ["L"])
    #expect(read.map(\.attributes) == [nil])
  }

  @Test func validatesCollectionNamesIfUsed() throws {
    let text =
      "{\"text\":\"a\",\"collection\":\"\"}\n{\"text\":\"b\",\"collection\":\"\(String(repeating: "c", count: 1025))\"}\n"
    #expect(failure(NDJSONSource(MemoryByteSource(text)))?.code == .malformed)
    var options = ReadingOptions()
    options.namesCollections = false
    #expect(try drafts(NDJSONSource(MemoryByteSource(text), options: options)).count == 2)
  }

  /// The highest ID leaves hardly any IDs for later records, so only its own record is rejected.
  @Test func skipsLastPossibleID() throws {
    let text = "{\"text\":\"a\",\"id\":9223372036854775806}\n{\"text\":\"b\"}\n"
    let kept = NDJSONSource(MemoryByteSource(text), options: ReadingOptions(onError: .skip, keepsIDs: true))
    #expect(try drafts(kept).map(\.text) == ["b"])
  }
}
