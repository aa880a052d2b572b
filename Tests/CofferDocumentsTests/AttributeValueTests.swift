import CofferDocuments
import Foundation
import Testing

/// Tests how apps set and read attributes.
struct AttributeValueTests {
  struct Refused: Sendable {
    let attributes: Attributes
    let code: JSONError.Code
  }

  static let refused = [
    Refused(attributes: ["x": .number(.nan)], code: .inexactNumber),
    Refused(attributes: ["x": .number(.infinity)], code: .inexactNumber),
    Refused(attributes: ["x": 9_007_199_254_740_993], code: .inexactNumber),
    Refused(attributes: ["x": [["y": 9_007_199_254_740_993]]], code: .inexactNumber),
    Refused(attributes: ["x": 1, "x": 2], code: .duplicateName),
    Refused(attributes: ["x": ["y": 1, "y": 2]], code: .inexactNumber),
  ]

  @Test(arguments: refused)
  func rejectsUnrepresentableLiteral(example: Refused) {
    let attributes = example.attributes
    #expect(attributes.fault?.code == example.code)
    #expect(!attributes.isEmpty)
    #expect(attributes.canonicalJSON.isEmpty)
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(attributes) }
  }

  @Test func keepsIntegersUpTo2To53() {
    let attributes: Attributes = ["x": 9_007_199_254_740_992, "y": -9_007_199_254_740_992]
    #expect(attributes.fault == nil)
    #expect(attributes["x"]?.integer == 1 << 53)
    #expect(attributes["y"]?.integer == -(1 << 53))
  }

  @Test func setsAndRemovesAttributesByName() throws {
    var attributes = Attributes()
    attributes["b"] = "text"
    attributes["a"] = 1.5
    attributes["\u{E9}"] = true
    attributes["e\u{301}"] = .null
    #expect(attributes.description == #"{"a":1.5,"b":"text","e\#u{301}":null,"\#u{E9}":true}"#)
    #expect(Attributes.isEqualInBytes(attributes, try Attributes(json: attributes.description)))
    attributes["b"] = nil
    attributes["missing"] = nil
    attributes["a"] = ["list", 2]
    #expect(attributes.description == #"{"a":["list",2],"e\#u{301}":null,"\#u{E9}":true}"#)
    attributes["a"] = nil
    attributes["e\u{301}"] = nil
    attributes["\u{E9}"] = nil
    #expect(attributes.isEmpty)
    #expect(attributes == Attributes())
  }

  @Test func keepsFaultUntilReassignment() {
    var attributes: Attributes = ["good": 1]
    attributes["bad"] = .number(.nan)
    #expect(attributes.fault?.code == .inexactNumber)
    attributes["bad"] = nil
    #expect(attributes.fault != nil)
    attributes = ["good": 1]
    #expect(attributes.fault == nil)
  }

  /// An empty array or object is a level too.
  @Test func limitsDepthOfEmptyContainers() {
    for innermost in [AttributeValue.array([]), .object([:])] {
      func attributes(levels: Int) -> Attributes {
        ["x": (2..<levels).reduce(innermost) { value, _ in .array([value]) }]
      }
      var deepest = attributes(levels: 512)
      #expect(deepest.fault == nil)
      deepest["y"] = 1
      #expect(deepest["x"] != nil && deepest["y"] == 1)
      #expect(attributes(levels: 513).fault?.code == .tooDeep)
      var changed: Attributes = ["y": 1]
      changed["x"] = attributes(levels: 512)["x"].map { .array([$0]) }
      #expect(changed.fault?.code == .tooDeep)
    }
  }

  @Test func gettersRequireMatchingType() {
    let attributes: Attributes = [
      "s": "text", "n": 2.5, "i": 3, "b": true, "a": [1], "o": ["k": "v"], "d": "2026-11-21T14:35:00.123Z", "z": nil,
    ]
    #expect(attributes["s"]?.string == "text")
    #expect(attributes["s"]?.number == nil)
    #expect(attributes["n"]?.number == 2.5)
    #expect(attributes["n"]?.integer == nil)
    #expect(attributes["i"]?.integer == 3)
    #expect(attributes["b"]?.bool == true)
    #expect(attributes["i"]?.bool == nil)
    #expect(attributes["a"]?.array == [1])
    #expect(attributes["o"]?.object == ["k": "v"])
    #expect(attributes["d"]?.timestamp == Timestamp(iso8601: "2026-11-21T14:35:00.123Z"))
    #expect(attributes["s"]?.timestamp == nil)
    #expect(attributes["z"] == .some(.null))
    #expect(attributes["missing"] == nil)
  }

  @Test func encodesAndDecodesAttributes() throws {
    let attributes: Attributes = ["a": [1, 2.5, "x", true, nil], "o": ["k": ["deep": false]], "big": 1e300]
    let data = try JSONEncoder().encode(["meta": attributes])
    let decoded = try JSONDecoder().decode([String: Attributes].self, from: data)
    #expect(decoded["meta"] == attributes)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Attributes.self, from: Data("[1]".utf8)) }
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Attributes.self, from: Data(#"{"x":9007199254740993}"#.utf8))
    }
    for integer in ["9223372036854775809", "18446744073709551615"] {
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(Attributes.self, from: Data(#"{"x":\#(integer)}"#.utf8))
      }
    }
  }
}

extension Attributes {
  fileprivate static func isEqualInBytes(_ one: Attributes, _ other: Attributes) -> Bool {
    one.canonicalJSON == other.canonicalJSON
  }
}
