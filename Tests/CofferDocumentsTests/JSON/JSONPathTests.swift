import Testing

@testable import CofferDocuments

struct JSONPathTests {
  private static let json =
    #"{"a":1,"b":{"c":[10,{"d":"x\u00e9"},[]]},"a.b":2,"":3,"a":4,"[":5,"t":"plain","quote'":6}"#

  private func value(at path: String, in json: String = json) throws -> String? {
    let path = try #require(JSONPath(path))
    return Array(json.utf8).withUnsafeBytes { bytes in
      path.find(in: bytes).map { String(decoding: bytes[$0.range], as: UTF8.self) }
    }
  }

  @Test(arguments: [
    ("a", "1"), ("$.a", "1"), (".a", "1"), ("b.c[0]", "10"), ("$.b.c[1].d", #""x\u00e9""#), ("b.c[2]", "[]"),
    ("[\"a.b\"]", "2"), ("$['a.b']", "2"), ("$.\"a.b\"", "2"), ("$[\"\"]", "3"), ("['[']", "5"), ("[\"quote'\"]", "6"),
    ("b[\"c\"][0]", "10"), (#"$."\u0061""#, "1"),
  ]) func findsValueByPath(_ path: String, _ expected: String) throws {
    #expect(try value(at: path) == expected)
  }

  @Test(arguments: ["z", "a.z", "b.c[3]", "b[0]", "[0]", "b.c.d", "t[0]"]) func returnsNilForMissingValue(
    _ path: String
  ) throws {
    #expect(try value(at: path) == nil)
  }

  @Test(arguments: ["$", ""]) func acceptsRootPath(_ path: String) throws {
    #expect(try value(at: path, in: " [1] ") == "[1]")
  }

  @Test(arguments: ["$a", "a.", "a..b", "$.", "a[", "a[]", "a[x]", "a[-1]", "a[1", "a[\"b]", "a[\"b\"c]", "a]b[0"])
  func rejectsInvalidPaths(_ path: String) {
    #expect(JSONPath(path) == nil)
  }

  @Test(arguments: ["", "{", "{\"a\":1", "{\"a\":1}x", "{a:1}", "\u{0}"]) func returnsNilForInvalidJSON(
    _ json: String
  ) throws {
    #expect(try value(at: "a", in: json) == nil)
  }

  @Test func unescapesStrings() throws {
    let path = try #require(JSONPath("b.c[1].d"))
    let number = try #require(JSONPath("a"))
    Array(Self.json.utf8).withUnsafeBytes { bytes in
      #expect(path.string(in: bytes) == "x\u{E9}")
      #expect(number.string(in: bytes) == nil)
    }
  }

  @Test(
    arguments: [
      ("$", "$"), ("a", "$.a"), ("b.c[1].d", "$.b.c[1].d"), ("['a.b']", #"$."a.b""#), ("[\"\"]", #"$."""#),
      (#"$."say \"hi\"".x"#, #"$."say \"hi\"".x"#), (#"$."a\\b""#, #"$."a\\b""#), ("größe[0][1]", "$.größe[0][1]"),
      ("['it''s']", nil), ("[\"it's\"]", #"$."it's""#), (#"$."a\nb""#, #"$."a\nb""#), ("a b", #"$."a b""#),
    ] as [(String, String?)]) func roundTripsDescription(_ text: String, _ expected: String?) throws
  {
    let path = JSONPath(text)
    #expect(path?.description == expected)
    #expect(path == expected.flatMap { JSONPath($0) })
  }

  @Test func findsNamesWithQuotes() throws {
    let json = #"{"say \"hi\"":1,"a\\b":2,"a.b[0]":3}"#
    #expect(try value(at: #"$."say \"hi\"""#, in: json) == "1")
    #expect(try value(at: #"$."a\\b""#, in: json) == "2")
    #expect(try value(at: #"$."a.b[0]""#, in: json) == "3")
    #expect(JSONPath(#"$."a\q""#) == nil && JSONPath(#"$."a\"#) == nil && JSONPath(#"$."\ud800""#) == nil)
  }
}
