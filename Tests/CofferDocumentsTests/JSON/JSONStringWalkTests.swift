import CofferTestSupport
import Testing

@testable import CofferDocuments

/// Tests visiting the strings of JSON values with their paths.
struct JSONStringWalkTests {
  /// Returns `path = value` for each string, and `path: name` for each name.
  private func strings(_ json: String, withNames: Bool = false) throws(JSONError) -> [String] {
    let bytes = Array(json.utf8)
    var found: [String] = []
    // Return the error as a value, because the closure of withUnsafeBytes doesn't have typed throws.
    let failure = bytes.withUnsafeBytes { bytes -> JSONError? in
      do throws(JSONError) {
        var walk = JSONStringWalk(bytes, withNames: withNames)
        while let string = try walk.nextString() {
          let value = JSONStringWalk.string(at: string.token.range, in: bytes) ?? "none"
          let room = UnsafeMutableRawBufferPointer.allocate(byteCount: string.token.range.count, alignment: 1)
          let count = walk.scanner.copyValue(of: string.token, to: room)
          #expect(String(decoding: room[..<count], as: UTF8.self) == value)
          room.deallocate()
          found.append("\(walk.path)\(string.isName ? ":" : " =") \(value)")
        }
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
    return found
  }

  @Test(arguments: [
    "", " ", "{", "[", #"["a""#, #"["a"]x"#, #"{"a":"b"}{"#, #"{"a" "b"}"#, #"{"a":"b",}"#, #"["a",]"#, #"{a:"b"}"#,
    #""a"#, #"["\x"]"#, #"["\ud800"]"#, #"["\udc00\ud800"]"#, #"["\ud800x"]"#, "[\"a\nb\"]", #"["a"]"# + "\u{0}",
    String(repeating: "[", count: 513) + #""a""#,
  ]) func rejectsInvalidJSONAtEnd(_ json: String) {
    #expect(throws: JSONError.self) { try strings(json) }
  }

  @Test func reportsStringPaths() throws {
    let json = #" {"a":"x","b":{"c":[1,"y",[["z"]],{"d":null}],"e.f":"w"},"":"v","say \"hi\"":true} "#
    #expect(
      try strings(json) == ["$.a = x", "$.b.c[1] = y", "$.b.c[2][0][0] = z", #"$.b."e.f" = w"#, #"$."" = v"#])
    #expect(
      try strings(json, withNames: true) == [
        "$.a: a", "$.a = x", "$.b: b", "$.b.c: c", "$.b.c[1] = y", "$.b.c[2][0][0] = z", "$.b.c[3].d: d",
        #"$.b."e.f": e.f"#, #"$.b."e.f" = w"#, #"$."": "#, #"$."" = v"#, #"$."say \"hi\"": say "hi""#,
      ])
  }

  @Test(arguments: [
    ("\"a\"", ["$ = a"]), ("12", []), ("[]", []), ("{}", []), (" null ", []), ("[[],\"b\"]", ["$[1] = b"]),
  ])
  func walksAnyValue(_ json: String, _ expected: [String]) throws {
    #expect(try strings(json) == expected)
  }

  @Test func resolvesEscapes() throws {
    #expect(
      try strings(#"["a\"b\\c\/d","\b\f\n\r\t","\u00e9\u20AC\ud83d\ude00\u0000"]"#)
        == ["$[0] = a\"b\\c/d", "$[1] = \u{8}\u{C}\n\r\t", "$[2] = é€😀\u{0}"])
  }

  @Test func walksDeepValuesToLimit() throws {
    let depth = JSONScanner.maximumDepth
    let json = String(repeating: "[", count: depth) + #""a""# + String(repeating: "]", count: depth)
    #expect(try strings(json) == ["$" + String(repeating: "[0]", count: depth) + " = a"])
  }

  @Test func returnsNilOutsideText() {
    Array(#"{"a":"b"}"#.utf8).withUnsafeBytes { json in
      for place in [0..<1, 2..<4, 6..<99, 7..<7, 9..<9, 1..<1] {
        #expect(JSONStringWalk.string(at: place, in: json) == nil, "\(place)")
      }
      #expect(JSONStringWalk.string(at: 6..<7, in: json) == "b")
    }
  }

  /// The walk and the scanner accept the same texts.
  @Test func agreesWithScannerOnRandomBytes() {
    var random = Pseudorandom(seed: 16)
    let pieces = ["{", "}", "[", "]", ",", ":", "\"a\"", "\"\\u00e9\"", "1", "null", " ", "\"", "\\"]
    var sound = 0
    for _ in 0..<20_000 {
      let json = (0..<Int.random(in: 0..<9, using: &random)).map { _ in pieces.randomElement(using: &random)! }.joined()
      let isJSON = Array(json.utf8).withUnsafeBytes { JSONScanner.isJSON($0) }
      let isWalked = (try? strings(json, withNames: true)) != nil
      #expect(isWalked == isJSON, "\(json)")
      if isJSON { sound += 1 }
    }
    #expect(sound > 100)
  }
}
