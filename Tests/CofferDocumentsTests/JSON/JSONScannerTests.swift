import CofferDocuments
import CofferTestSupport
import Foundation
import Testing

@Suite struct JSONScannerTests {
  @Test(arguments: [
    "", " ", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[]]", "[1]x", "{", "{\"a\"", "{\"a\":", "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}", "{,}", "{a:1}", "{'a':1}", "{1:1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":}", "{]", "[}", "\"",
    "\"a", "\"\\", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"\\u\"", "\"a\nb\"", "\"a\tb\"", "\"\u{0}\"",
    "\"\u{1F}\"", "tru", "TRUE", "nul", "nulll", "falsey", "NaN", "Infinity", "-", "+1", "01", "-01", "1.", ".5", "1e",
    "1e+", "1.e1", "0x1", "1_000", "--1", "- 1", "1 2", "// c\n1", "/**/1", "1//", "\u{FEFF}1", "\u{A0}1", "\u{C}1",
    "[1}",
    "\"a\" \"b\"", "\\u0031", "'a'", "undefined",
  ])
  func rejectsTextOutsideRFC8259(text: String) {
    #expect(scanError(text)?.code == .malformed)
  }

  @Test(arguments: [
    "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"\\ud800\\ud800\"", "\"\\uDfff\\uD800\"",
  ])
  func rejectsUnpairedSurrogate(text: String) {
    #expect(scanError(text)?.code == .loneSurrogate)
  }

  @Test(arguments: ["\"\\ud8", "\"\\ud800\\u12\""])
  func rejectsTruncatedSurrogateEscapes(text: String) {
    #expect(scanError(text) != nil)
  }

  @Test func rejectsDepthBeyondLimit() throws {
    let limit = JSONScanner.maximumDepth
    let sound = String(repeating: "[", count: limit) + String(repeating: "]", count: limit)
    #expect(try scan(sound) == .array)
    #expect(scanError("[" + sound + "]")?.code == .tooDeep)
    let objects = String(repeating: "{\"a\":", count: limit + 1) + "1" + String(repeating: "}", count: limit + 1)
    #expect(scanError(objects)?.code == .tooDeep)
  }

  @Test func rejectsHundredThousandBrackets() {
    let error = scanError(String(repeating: "[", count: 100_000))
    #expect(error?.code == .tooDeep)
    #expect(error?.byteOffset == JSONScanner.maximumDepth)
  }

  @Test(arguments: [
    ("[1,\n 2x]", 6), ("{\"a\":tru}", 5), ("\"abc\ndef\"", 4), ("[\"0123456789012345\\q\"]", 19), ("  ", 2),
  ])
  func reportsErrorOffsets(text: String, offset: Int) {
    #expect(scanError(text)?.byteOffset == offset)
  }

  @Test(arguments: [
    ("null", JSONScanner.Kind.null), ("true", .bool), (" false\r\n", .bool), ("-0", .number), ("0.5E-3", .number),
    ("1e400", .number), ("\"\"", .string), ("\"\\u0000\u{7F}\u{2028}😀\"", .string), ("[]", .array),
    ("[ 1 , \"a\" , [ ] , { } ]", .array), ("{}", .object), ("{\"\":0,\"\":0}", .object),
    ("\"\\ud83d\\ude00\\/\\b\"", .string),
  ])
  func returnsKindOfEachValue(text: String, kind: JSONScanner.Kind) throws {
    #expect(try scan(text) == kind)
  }

  /// Tests quotes, escapes and controls at every offset in the scanner's blocks of eight bytes.
  @Test func findsStringEndAtEachAlignment() throws {
    for length in 0..<40 {
      let run = String(repeating: "é", count: length / 2) + String(repeating: "x", count: length % 2)
      #expect(try scan("\"\(run)\"") == .string)
      #expect(scanError("\"\(run)\u{1}\"")?.code == .malformed)
      #expect(scanError("\"\(run)")?.code == .malformed)
      #expect(try scan("[\"\(run)\\\"\",\"\(run)\"]") == .array)
    }
  }

  @Test(.corpora("jsontestsuite")) func passesJSONTestSuite() throws {
    var sound = 0
    for name in try Corpora.names(in: "jsontestsuite/test_parsing") {
      let bytes = try Corpora.bytes("jsontestsuite/test_parsing/\(name)")
      // The scanner never receives invalid UTF-8.
      let isAccepted = String(validating: bytes, as: UTF8.self) != nil && (try? scan(bytes)) != nil
      if name.hasPrefix("y_") {
        #expect(isAccepted, "\(name)")
        sound += 1
      } else if name.hasPrefix("n_") {
        #expect(!isAccepted, "\(name)")
      }
    }
    #expect(sound > 90)
  }
}
