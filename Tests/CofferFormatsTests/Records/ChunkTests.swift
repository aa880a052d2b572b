import CofferDocuments
import CofferText
import Testing

@testable import CofferFormats

/// Documents must not depend on chunk and buffer sizes.
@Suite struct ChunkTests {

  /// A string longer than the smallest buffer, to move record boundaries to any position in the buffer.
  private static let filler = String(repeating: "0123456789", count: 12)

  private func all<Parser: RecordParser>(
    _ bytes: [UInt8], _ parser: Parser, chunk: Int, capacity: Int, _ options: ReadingOptions = ReadingOptions()
  ) throws -> [Drafted] {
    var reader = ParsedRecords(
      MemoryByteSource(bytes, chunk: chunk), options: options, parser: parser, capacity: capacity)
    var batch = DraftBatch()
    var read: [Drafted] = []
    while try reader.read(into: &batch) { read += batch.drafts.map { Drafted($0, batch.bytes) } }
    return read
  }

  private func expectSame<Parser: RecordParser>(
    _ text: String, _ parser: Parser, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for bytes in [Array(text.utf8), utf16(text, mark: true)] {
      let whole = try all(bytes, parser, chunk: .max, capacity: 4096)
      #expect(whole.count > 2, sourceLocation: sourceLocation)
      for chunk in 1...bytes.count {
        let read = try all(bytes, parser, chunk: chunk, capacity: 128)
        #expect(read == whole, "chunk \(chunk)", sourceLocation: sourceLocation)
      }
    }
  }

  @Test func rowsAreTheSameInAnyChunks() throws {
    let text =
      "id,title,te\"x,text\r\n1,\"a \"\"q\"\"\",\"\(Self.filler)\r\n\",ä\r\n2,,😀,\"\"\n3,\"\",x,\"\(Self.filler)\"\"\"\r\n4,,,"
    try expectSame(
      text, RowParser(dialect: .csv, mapping: ColumnMapping(), hasHeader: true, keepsIDs: false))
  }

  @Test func linesAreTheSameInAnyChunks() throws {
    try expectSame("a\r\n\rb\r\r\n😀\(Self.filler)ä\n\nlast\r", LineParser())
  }

  @Test func jsonLinesAreTheSameInAnyChunks() throws {
    let text = """
      {"text":"a\\n\\ud83d\\ude00","id":1,"attributes":{"b":1,"a":"\\u00e9"}}\r
      {"x":"\(Self.filler)ä","name":"😀"}

      {"position":1,"text":"\(Self.filler)","created":"2026-11-21T14:35:00.123Z"}
      [1]
      """
    try expectSame(text, JSONLineParser(mapping: ColumnMapping(), options: ReadingOptions()))
  }

  @Test func jsonElementsAreTheSameInAnyChunks() throws {
    let text = """
       [ {"text":"a\\n\\ud83d\\ude00","id":1} , 12345678901234567890 ,true
      , {"x":"\(Self.filler)ä","name":"😀"},[1, [2]],
      null, -1.5e+10] \r

      """
    try expectSame(text, JSONTextParser(mapping: ColumnMapping(), options: ReadingOptions()))
  }

  @Test func textIsTheSameInAnyChunks() throws {
    let text = "ä😀\(Self.filler)\r\n€"
    for bytes in [Array(text.utf8), utf16(text, mark: true)] {
      for chunk in 1...bytes.count {
        let read = try all(bytes, TextParser(), chunk: chunk, capacity: 128)
        #expect(read.map(\.text) == [text], "chunk \(chunk)")
      }
    }
  }

  /// Rejections and their locations must not depend on chunks.
  @Test func rejectionsAreTheSameInAnyChunks() throws {
    let text = "title,text\n1,ok\n2,\"op\u{E4}n\n3,ok\n4,\"x\"y\n\(Self.filler)\n6,?\n7,😀\n8,\"\(Self.filler)"
    var bytes = utf16(text, mark: true)
    let mark = bytes.indices.first { $0 % 2 == 0 && bytes[$0] == UInt8(ascii: "?") }!
    bytes[mark + 1] = 0xDC
    func run(chunk: Int, capacity: Int) throws -> ([Drafted], [InputLocation?], [[UInt8]]) {
      let rejections = Rejections()
      let parser = RowParser(dialect: .csv, mapping: ColumnMapping(), hasHeader: true, keepsIDs: false)
      let read = try all(bytes, parser, chunk: chunk, capacity: capacity, rejections.options())
      return (read, rejections.all.map(\.error.location), rejections.all.map(\.bytes))
    }
    let whole = try run(chunk: .max, capacity: 4096)
    #expect(whole.0.map(\.title) == ["1", "3", "7"])
    #expect(whole.1.map { $0?.line } == [3, 5, 6, 7, 9])
    #expect(whole.1[3]?.byteOffset == mark)
    for chunk in 1...bytes.count {
      let (read, locations, rejected) = try run(chunk: chunk, capacity: 128)
      #expect(read == whole.0, "chunk \(chunk)")
      #expect(locations == whole.1, "chunk \(chunk)")
      #expect(rejected == whole.2, "chunk \(chunk)")
    }
  }

  /// Error locations are computed backwards from the end of the decoded text, in encoded bytes.
  @Test(arguments: [TextEncoding.utf8, .utf16LittleEndian, .utf16BigEndian, .windows1251])
  func reportsExactLocationInAnyEncoding(encoding: TextEncoding) throws {
    let emoji = encoding == .windows1251 ? "я" : "😀"
    let before = "text,title\nпривет,\(emoji)\n\(Self.filler),ж\nяя\(emoji),"
    let bytes = try encoded(before + "\"a\"b\nx,y\n", encoding)
    let offset = try encoded(before, encoding).count + 3 * (encoding == .utf8 || encoding == .windows1251 ? 1 : 2)
    for chunk in 1...bytes.count {
      let parser = RowParser(dialect: .csv, mapping: ColumnMapping(), hasHeader: true, keepsIDs: false)
      let options = ReadingOptions(encoding: .fixed(encoding))
      let error = #expect(throws: FormatError.self) {
        try all(bytes, parser, chunk: chunk, capacity: 128, options)
      }
      #expect(error?.location == InputLocation(record: 3, line: 4, column: 8, byteOffset: offset))
    }
  }

  private func encoded(_ text: String, _ encoding: TextEncoding) throws -> [UInt8] {
    var output = EncodedOutput(MemoryByteSink(), options: WritingOptions(encoding: encoding))
    output.buffer += text.utf8
    try output.finish()
    return output.sink.bytes
  }
}
