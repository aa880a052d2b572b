import CofferDocuments
import CofferTestSupport
import CofferText
import Testing

@testable import CofferFormats

@Suite struct TextTests {
  @Test func reportsLocationOfInvalidUTF8() {
    let bytes = Array("ä\nbß".utf8) + [0xC3, 0x28]
    let error = failure(TextSource(MemoryByteSource(bytes, chunk: 1), title: "a.txt"))
    #expect(error?.code == .undecodable)
    #expect(error?.location == InputLocation(record: 1, line: 2, column: 3, byteOffset: 6))
  }

  @Test(arguments: [1, 2, 3, 5, 64])
  func reportsUnpairedSurrogateInUTF16(chunk: Int) {
    let bytes = utf16("ä😀\n\nab", mark: true) + [0x00, 0xD8, 0x41, 0x00]
    let error = failure(LinesSource(MemoryByteSource(bytes, chunk: chunk)))
    #expect(error?.code == .undecodable)
    #expect(error?.location == InputLocation(record: 3, line: 3, column: 3, byteOffset: 16))
  }

  @Test func undecidedInputSuggestsEncodings() {
    let error = failure(TextSource(MemoryByteSource(utf16("hello world"))))
    #expect(error?.code == .undecodable)
    #expect(error?.suggestions.first == .utf16LittleEndian)
    #expect(error?.location?.byteOffset == 1)
  }

  @Test func replacesInvalidBytes() throws {
    let bytes = Array("a".utf8) + [0xFF] + Array("b".utf8)
    let options = ReadingOptions(encoding: .fixed(.utf8), onError: .replace)
    #expect(try drafts(TextSource(MemoryByteSource(bytes), options: options)).map(\.text) == ["a\u{FFFD}b"])
  }

  @Test func replacementRequiresEncoding() {
    let options = ReadingOptions(onError: .replace)
    #expect(failure(TextSource(MemoryByteSource([0x61, 0xFF]), options: options))?.code == .undecodable)
  }

  @Test func skipsWholeInvalidText() throws {
    let rejections = Rejections()
    let options = rejections.options { $0.encoding = .fixed(.utf8) }
    #expect(try drafts(TextSource(MemoryByteSource([0x61, 0xFF]), options: options)).isEmpty)
    #expect(rejections.all.map(\.bytes) == [[0x61, 0xFF]])
    #expect(rejections.all.first?.error.location?.byteOffset == 1)
  }

  @Test func rejectsOversizedText() throws {
    let options = ReadingOptions(maximumRecordByteCount: 1000)
    #expect(
      failure(TextSource(MemoryByteSource([UInt8](repeating: 0x61, count: 1001)), options: options))?.code == .tooLarge)
    let sound = TextSource(MemoryByteSource([UInt8](repeating: 0x61, count: 1000)), options: options)
    #expect(try drafts(sound).map(\.text.utf8.count) == [1000])
    let long = TextSource(
      MemoryByteSource([UInt8](repeating: 0x61, count: 600_000)),
      options: ReadingOptions(maximumRecordByteCount: 599_999))
    #expect(failure(long)?.code == .tooLarge)
  }

  @Test func readsInputAsSingleDocument() throws {
    let text = "first\r\nsecond\u{FEFF}\n"
    let read = try drafts(TextSource(MemoryByteSource("\u{FEFF}" + text), title: "näme.txt"))
    #expect(read.map(\.text) == [text])
    #expect(read.map(\.title) == ["näme.txt"])
    #expect(read.map(\.isComplete) == [false])
  }

  @Test(arguments: ["", "\u{FEFF}"])
  func readsEmptyInputAsEmptyDocument(text: String) throws {
    #expect(try drafts(TextSource(MemoryByteSource(text), title: "t")).map(\.text) == [""])
    let skipping = ReadingOptions(emptyText: .skip)
    var source = TextSource(MemoryByteSource(text), options: skipping)
    #expect(try drafts(&source).isEmpty)
    #expect(source.report.skippedEmpty == 1)
    #expect(failure(TextSource(MemoryByteSource(text), options: ReadingOptions(emptyText: .fail)))?.code == .emptyText)
  }

  @Test func longTextGrowsTheBuffer() throws {
    let text = String(repeating: "0123456789 ä😀\n", count: 40_000)
    #expect(try drafts(TextSource(MemoryByteSource(text))).map(\.text) == [text])
    #expect(try drafts(TextSource(MemoryByteSource(utf16(text, mark: true), chunk: 100_003))).map(\.text) == [text])
    #expect(try drafts(TextSource(MemoryByteSource(text), sizeHint: 3)).map(\.text) == [text])
  }

  @Test func splitsLinesAtLineFeeds() throws {
    let read = try drafts(LinesSource(MemoryByteSource("a\nb\r\n\n\rc\rd\r\n e \nlast")))
    #expect(read.map(\.text) == ["a", "b", "\rc\rd", " e ", "last"])
    #expect(read.map(\.record) == [1, 2, 4, 5, 6])
    #expect(read.allSatisfy { $0.title == nil })
  }

  @Test func appliesEmptyTextModeToLines() throws {
    var source = LinesSource(MemoryByteSource("\na\n\r\n"))
    #expect(try drafts(&source).map(\.text) == ["a"])
    #expect(source.report.skippedEmpty == 2)
    let storing = ReadingOptions(emptyText: .store)
    #expect(try drafts(LinesSource(MemoryByteSource("\na\n\r\n"), options: storing)).map(\.text) == ["", "a", ""])
    #expect(
      failure(LinesSource(MemoryByteSource("a\n\n"), options: ReadingOptions(emptyText: .fail)))?.location?.line == 2)
  }

  @Test func skipsOverlongLines() throws {
    let rejections = Rejections()
    let options = rejections.options { $0.maximumRecordByteCount = 300_000 }
    let text = "a\n" + String(repeating: "x", count: 700_000) + "\nb\n" + String(repeating: "y", count: 400_000)
    #expect(try drafts(LinesSource(MemoryByteSource(text), options: options)).map(\.text) == ["a", "b"])
    #expect(rejections.all.map(\.error.code) == [.tooLarge, .tooLarge])
    #expect(rejections.all.map { $0.error.location?.line } == [2, 4])
  }

  /// A line generated on demand, so only the reader's buffer holds its bytes.
  private struct EndlessLine: ByteSource {
    var left: Int

    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int {
      let count = min(left, buffer.count)
      buffer[..<count].initializeMemory(as: UInt8.self, repeating: UInt8(ascii: "x"))
      left -= count
      return count
    }
  }

  @Test(.slow) func appliesRaisedRecordLimit() throws {
    let line = EndlessLine(left: 200_000_000)
    for error in [
      failure(LinesSource(line)), failure(DelimitedSource(line, dialect: .csv, header: .no)),
      failure(NDJSONSource(line)),
    ] {
      #expect([.tooLarge, .malformed].contains(error?.code))
    }
    #expect(failure(LinesSource(line))?.code == .tooLarge)
    let raised = ReadingOptions(maximumRecordByteCount: 256 << 20)
    var batch = DraftBatch()
    var source = LinesSource(line, options: raised)
    #expect(try source.read(into: &batch))
    #expect(batch.drafts.first?.text?.count == 200_000_000)
  }
}
