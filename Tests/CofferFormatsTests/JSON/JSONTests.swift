import CofferDocuments
import CofferTestSupport
import CofferText
import Foundation
import Testing

@testable import CofferFormats

@Suite struct JSONTests {
  private func source(
    _ text: String, mapping: String? = nil, options: ReadingOptions = ReadingOptions()
  ) -> JSONSource {
    JSONSource(
      MemoryByteSource(text), mapping: mapping.map { ColumnMapping(parsing: $0)! } ?? ColumnMapping(), options: options)
  }

  // MARK: Malformed input

  /// Invalid JSON by RFC 8259, in the variants of the public test suite.
  @Test(arguments: [
    "", " ", "\u{FEFF}", "[", "]", "{", "[1", "[1,", "[1,]", "[,1]", "[1,,2]", "[,]", "[1 2]", "[1:2]", "[1}",
    "{\"a\":1]",
    "[1]]", "[1]x", "[1]1", "[],", "[1] [2]", "{} {}", "{\"a\":1}#", "{\"a\":1,}", "{\"a\" 1}", "{\"a\"}", "{a:1}",
    "{'a':1}", "{1:1}", "{\"a\":1,,\"b\":2}", "{\"a\":\"b\"}/**/", "[\"a\" , ]", "[\"a", "[\"a]", "\"", "'a'",
    "[\"\t\"]",
    "[\"\n\"]", "[\"\\x00\"]", "[\"\\u00A\"]", "[\"\\", "[\"\\\"]", "[\"\\uD800\"]", "[\"\\uDC00\"]",
    "[\"\\uD800\\n\"]",
    "[\"\\uD800\\uD800\"]", "[-]", "[+1]", "[01]", "[-01]", "[1.]", "[.5]", "[1.e1]", "[1e]", "[1e+]", "[0x1]", "[1+2]",
    "[NaN]", "[Infinity]", "[-Infinity]", "[nan]", "[tru]", "[True]", "[nul]", "nul", "[a]", "[\u{2060}]", "[\u{C}]",
    "[1,\n1\n,1", "[\"a\",\n4\n,1,", "[{}", "[{\"a\":", "{\"\":", "[*]", "[\\u000A\"\"]", "<.>", "[<null>]", "\u{E5}",
    "1 true",
  ])
  func rejectsInvalidJSON(text: String) {
    #expect(failure(source(text))?.code == .malformed)
  }

  @Test func reportsExactErrorLocation() {
    let error = failure(source("[{\"a\":\"ä\"},\n {\"b\": tru}]"))
    #expect(error?.location == InputLocation(record: 2, line: 2, column: 8, byteOffset: 20))
    #expect(failure(source("[1, 2"))?.location?.byteOffset == 5)
    #expect(failure(source("[1]\n x"))?.location == InputLocation(record: 2, line: 2, column: 2, byteOffset: 5))
  }

  @Test func reportsByteOffsetInUTF16() {
    let bytes = utf16("[\"😀\",\n x]", mark: true)
    let error = failure(JSONSource(MemoryByteSource(bytes, chunk: 3)))
    #expect(error?.location == InputLocation(record: 2, line: 2, column: 2, byteOffset: 18))
  }

  @Test(arguments: ["[", "{\"a\":", "[{\"\":"])
  func rejectsDeepNesting(bracket: String) {
    let error = failure(source(String(repeating: bracket, count: 100_000)))
    #expect(error?.code == .malformed)
    #expect(error?.reason.contains("512") == true)
  }

  @Test func rejectsOversizedElement() {
    let options = ReadingOptions(maximumRecordByteCount: 1000)
    let long = "\"\(String(repeating: "x", count: 300_000))\""
    #expect(failure(source("[1,\(long)]", options: options))?.code == .tooLarge)
  }

  // MARK: Skipped elements

  @Test func skipsOnlyInvalidElements() throws {
    let rejections = Rejections()
    let text = "[\"a\",tru,{\"x\":[1,],\"y\":\"}\"},\"b\\ud800\",{\"q\":\"not closed\n},\"c\" \"d\",\"e\"] x"
    #expect(try drafts(source(text, options: rejections.options())).map(\.text) == ["\"a\"", "\"c\"", "\"e\""])
    #expect(rejections.all.map { $0.error.location?.record } == [2, 3, 4, 5, 7, 9])
    #expect(rejections.all.allSatisfy { $0.bytes.isEmpty })
  }

  @Test func keepsCompleteElementsOfTruncatedArray() throws {
    let rejections = Rejections()
    #expect(
      try drafts(source("[1,{\"a\":2},{\"a\":", options: rejections.options())).map(\.text) == ["1", "{\"a\":2}"])
    #expect(rejections.all.count == 1)
    #expect(try drafts(source("[1", options: rejections.options())).map(\.text) == ["1"])
    #expect(rejections.all.count == 2)
  }

  @Test func countsInvalidRootAsOneRecord() throws {
    for text in ["{\"a\":1,}", "", "{\"a\":[1,2}\n{\"b\":1}"] {
      let rejections = Rejections()
      #expect(try drafts(source(text, options: rejections.options())).isEmpty)
      #expect(rejections.all.count == 1)
    }
  }

  @Test func skipsOnlyOversizedElement() throws {
    let rejections = Rejections()
    let long = "{\"a\":[\"\(String(repeating: "],\\\"", count: 200_000))\"]}"
    let options = rejections.options { $0.maximumRecordByteCount = 1000 }
    #expect(try drafts(source("[1 , \(long) ,2]", options: options)).map(\.text) == ["1", "2"])
    #expect(rejections.all.map(\.error.code) == [.tooLarge])
  }

  @Test func rejectsOnlyElementWithInvalidBytes() throws {
    let rejections = Rejections()
    let bytes = Array("[\"a\",\"".utf8) + [0xC3, 0x28] + Array("\",\"b\"]".utf8)
    let options = rejections.options { $0.encoding = .fixed(.utf8) }
    #expect(try drafts(JSONSource(MemoryByteSource(bytes), options: options)).map(\.text) == ["\"a\"", "\"b\""])
    #expect(rejections.all.map(\.error.code) == [.undecodable])
    #expect(rejections.all.first?.error.location?.byteOffset == 6)
  }

  /// A fatal error is thrown after the preceding documents, and by each later call.
  @Test func returnsDocumentsBeforeError() throws {
    var source = source(
      "[{\"text\":\"a\"},{\"text\":\"\"},{\"text\":\"b\"}]", options: ReadingOptions(emptyText: .fail))
    var batch = DraftBatch()
    #expect(try source.read(into: &batch))
    #expect(batch.drafts.count == 1)
    #expect(throws: FormatError(.emptyText, "")) { try source.read(into: &batch) }
    #expect(throws: FormatError(.emptyText, "")) { try source.read(into: &batch) }
  }

  // MARK: Documents

  @Test func readsElementsAsDocuments() throws {
    let text = "\n[ {\"text\":\"a\",\"id\":7} ,\n {\"name\":\"n\", \"x\":1.50}, [1, 2], \"s\", 12, null ]\n"
    let read = try drafts(source(text))
    #expect(read.map(\.text) == ["a", "{\"name\":\"n\", \"x\":1.50}", "[1, 2]", "\"s\"", "12", "null"])
    #expect(read.map(\.title) == [nil, "n", nil, nil, nil, nil])
    #expect(read.map(\.id) == [7, nil, nil, nil, nil, nil])
    #expect(read.map(\.record) == Array(1...6))
  }

  @Test(arguments: ["[]", " [ ]\n"])
  func readsEmptyArray(text: String) throws {
    #expect(try drafts(source(text)).isEmpty)
  }

  @Test(arguments: [
    "{\n \"a\" : 1\n}", "\"text\"", "-0", "1e400", "123456789012345678901234567890.5", "null", "{\"a\":1,\"a\":2}",
  ])
  func preservesTextOfOtherRoots(text: String) throws {
    #expect(try drafts(source(" \(text)\r\n")).map(\.text) == [text])
  }

  @Test func mapsMembers() throws {
    let read = try drafts(source("[{\"t\":\"T\",\"c\":\"C\",\"n\":1}]", mapping: "title=t,text=c"))
    #expect(read.map(\.text) == ["C"])
    #expect(read.map(\.title) == ["T"])
    #expect(read.map(\.attributes) == ["{\"n\":1}"])
  }

  @Test(.slow) func limitsBatchSize() throws {
    let element = "{\"a\":\"\(String(repeating: "x", count: 1000))\"}"
    var source = source("[" + Array(repeating: element, count: 5000).joined(separator: ",") + "]")
    var batch = DraftBatch()
    var count = 0
    while try source.read(into: &batch) {
      count += batch.drafts.count
      #expect(batch.bytes.count < 1 << 20)
    }
    #expect(count == 5000)
  }

  // MARK: Writing

  @Test(arguments: [0, 1, 2])
  func writesArrayOfObjects(count: Int) throws {
    var sink = JSONSink(MemoryByteSink())
    try sink.writeAll((0..<count).map { (Samples.header(Int64($0) + 1, title: "T"), "x\n\"\($0)\"") }, collection: "c")
    let parsed = try #require(
      try JSONSerialization.jsonObject(with: Data(sink.sink.bytes)) as? [[String: Any]])
    #expect(parsed.map { $0["text"] as? String } == (0..<count).map { "x\n\"\($0)\"" })
    #expect(parsed.allSatisfy { $0["collection"] as? String == "c" && $0["title"] as? String == "T" })
    #expect(sink.sink.bytes.last == Byte.lineFeed)
  }
}
