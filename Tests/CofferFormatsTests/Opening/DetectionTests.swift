import CofferText
import Foundation
import Testing

@testable import CofferFormats

@Suite struct DetectionTests {
  private func detect(_ text: String, _ pathExtension: String? = nil, isWhole: Bool = true) -> InputFormat? {
    InputFormat.detect(head: Array(text.utf8), headIsWhole: isWhole, pathExtension: pathExtension)
  }

  @Test(arguments: ["", "plain", "a\tb\n", "a,b\n", "{ no json", "[1,", "{\"a\":1}x"])
  func returnsNilForAmbiguousContent(text: String) {
    #expect(detect(text) == nil)
  }

  @Test(arguments: [
    ("SQLite format 3\0", InputFormat.sqlite), ("bplist00\u{1}", .plist), ("bplist00 NSKeyedArchiver", .keyedArchive),
    ("<?xml version=\"1.0\"?><!DOCTYPE plist><plist version=\"1.0\">", .plist),
    ("<?xml version=\"1.0\"?><plist><string>NSKeyedArchiver</string>", .keyedArchive),
    ("[{\"a\":1}]", .json), ("[\n1\n]\n", .json), ("{\n\"a\":1\n}", .json), ("{\"a\":1}", .ndjson),
    ("{\"a\":1}\n{\"b\":2}\n", .ndjson), ("\n [1]\n[2]\n", .ndjson), ("{\"a\":1}\r\n\r\n{\"b\":2}", .ndjson),
  ])
  func contentTakesPrecedence(text: String, format: InputFormat) {
    #expect(detect(text) == format)
    #expect(detect(text, "csv") == format)
  }

  @Test(arguments: [
    ("csv", InputFormat.csv), ("TSV", .tsv), ("tab", .tsv), ("json", .json), ("ndjson", .ndjson), ("jsonl", .ndjson),
    ("txt", .text), ("md", .text), ("", .text), ("xml", .text),
  ])
  func fallsBackToExtension(pathExtension: String, format: InputFormat) {
    #expect(detect("{\"a\" no json", pathExtension) == format)
    #expect(detect("", pathExtension) == format)
  }

  @Test(arguments: [
    ("a\tb\nc\td\n", InputFormat.tsv), ("a\tb", .text), ("a\tb\nc\n", .text), ("a\n", .text), ("a\tb\n\n", .text),
    ("a\tb\tc\r\n\t\t\r\n", .tsv), ("a\t\"b\nc\"\nd\te\n", .tsv), ("a\t\"b\nc\n", .text), ("a\tb\nc\td\te\n", .text),
  ])
  func detectsTabSeparatedText(text: String, format: InputFormat) {
    #expect(detect(text, "txt") == format)
    #expect(detect(text, "md") == .text)
    let utf16 = utf16(text, mark: true)
    #expect(InputFormat.detect(head: utf16, headIsWhole: true, pathExtension: "txt") == format)
  }

  @Test func checksHundredLinesForTabs() {
    let even = String(repeating: "a\tb\n", count: 100)
    #expect(detect(even + "c\n", "txt") == .tsv)
    #expect(detect(even.dropLast(4) + "c\nd\te\n", "txt") == .text)
  }

  @Test func detectsFormatOfTruncatedHead() {
    #expect(detect("[{\"a\":\"\\ud83d", isWhole: false) == .json)
    #expect(detect("[{\"a\":tr", isWhole: false) == .json)
    #expect(detect("{\"a\":\n[1,", isWhole: false) == .json)
    #expect(detect("{\"text\":\"very long", isWhole: false) == .ndjson)
    #expect(detect("{\"a\":1}\n{\"b\":", isWhole: false) == .ndjson)
    #expect(detect("a\tb\nc\td\ne", "txt", isWhole: false) == .tsv)
    let cut = Array("{\"a\":\"ä".utf8).dropLast()
    #expect(InputFormat.detect(head: Array(cut), headIsWhole: false, pathExtension: nil) == .ndjson)
  }

  @Test func singleObjectUsesExtension() {
    #expect(detect("{\"a\":1}\n", "json") == .json)
    #expect(detect("{\"a\":1}\n{}\n", "json") == .ndjson)
    #expect(detect("{\"a\":1}", "jsonl") == .ndjson)
  }

  @Test func detectsUnusualPropertyLists() {
    let text = "<?xml version=\"1.0\" encoding=\"utf-16\"?><plist version=\"1.0\"><true/></plist>"
    #expect(InputFormat.detect(head: utf16(text), headIsWhole: true, pathExtension: "plist") == .plist)
    #expect(detect("<plist version=\"1.0\"><true/></plist>") == .plist)
    #expect(detect("\u{4}\u{B}streamtyped") == .keyedArchive)
    #expect(detect("bplist15") == .plist)
  }

  @Test func unnamedStreamRequiresFormat() throws {
    #expect(throws: FormatError(.undecidedFormat, "")) { try InputSource(MemoryByteSource("plain")) }
    let source = try InputSource(MemoryByteSource("{\"text\":\"a\"}\n", chunk: 1))
    #expect(source.format == .ndjson)
    #expect(try drafts(source).map(\.text) == ["a"])
    #expect(try drafts(try InputSource(MemoryByteSource("plain"), format: .lines)).map(\.text) == ["plain"])
  }

  @Test func opensFilesByFormat() throws {
    let directory = try TemporaryDirectory()
    try directory.write("a,text\n1,2\n".utf8, to: "table.csv")
    try directory.write("just text".utf8, to: "note")
    try directory.write(utf16("title\ttext\na\tb\n", mark: true), to: "Unicode Text.txt")
    let table = try InputSource(opening: "\(directory.path)/table.csv")
    #expect(table.format == .csv)
    #expect(try drafts(table).map(\.text) == ["2"])
    let note = try InputSource(opening: "\(directory.path)/note")
    #expect(try drafts(note).map(\.title) == ["note"])
    let spreadsheet = try InputSource(opening: "\(directory.path)/Unicode Text.txt")
    #expect(spreadsheet.format == .tsv)
    #expect(try drafts(spreadsheet).map(\.title) == ["a"])
    #expect(try InputSource(opening: directory.path).format == .text)
    #expect(throws: FormatError(.unreadable, "")) { try InputSource(opening: "\(directory.path)/none") }
    #expect(throws: FormatError(.unsupportedFormat, "")) { try InputSource(opening: directory.path, format: .csv) }
  }

  @Test func errorsIncludePath() throws {
    let directory = try TemporaryDirectory()
    try directory.write("text\n\"a".utf8, to: "bad.csv")
    let error = failure(try InputSource(opening: "\(directory.path)/bad.csv"))
    #expect(error?.path == "\(directory.path)/bad.csv")
    #expect(error?.description.contains("line 2, column 1, byte 5") == true)
  }
}
