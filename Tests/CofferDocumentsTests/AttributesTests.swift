import CofferDocuments
import Testing

@Suite struct AttributesTests {
  private func error(_ json: String) -> JSONError? {
    do throws(JSONError) {
      _ = try Attributes(json: json)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: ["", "1", "[]", "null", "\"a\"", "  true"])
  func requiresJSONObject(json: String) {
    #expect(error(json)?.code == .notAnObject)
  }

  @Test(arguments: ["{", "{}x", "{\"a\":}", "{\"a\":01}"])
  func rejectsMalformedJSON(json: String) {
    #expect(error(json)?.code == .malformed)
  }

  @Test func rejectsInvalidUTF8() {
    #expect(throws: JSONError.self) { try Attributes(json: [0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D]) }
  }

  @Test(arguments: [
    "{\"a\":1,\"a\":1}", "{\"x\":{\"a\":1,\"b\":2,\"\\u0061\":3}}", "{\"x\":[{\"é\":1,\"\\u00e9\":2}]}",
  ])
  func rejectsDuplicateNamesAtAnyDepth(json: String) {
    #expect(error(json)?.code == .duplicateName)
  }

  @Test func distinguishesNamesByComposition() throws {
    let attributes = try Attributes(json: "{\"\u{E9}\":1,\"e\u{301}\":2}")
    #expect(attributes["\u{E9}"] == .number(1))
    #expect(attributes["e\u{301}"] == .number(2))
  }

  @Test(arguments: [
    "9007199254740993", "-9007199254740993", "9223372036854775807", "18446744073709551615",
    "100000000000000000000001", "1e400", "-1e309", "12345678901234567890123456789012345678901234567890",
  ])
  func rejectsNumbersBeyondDoublePrecision(number: String) {
    #expect(error("{\"n\":\(number)}")?.code == .inexactNumber)
    #expect(error("{\"n\":\(number)}")?.byteOffset == 5)
  }

  @Test(arguments: [
    "9007199254740992", "9007199254740994", "-9223372036854775808", "295147905179352830000", "100000000000000000000",
    "0.1", "1e23", "123456789.123456789", "10000000000000000000000",
  ])
  func acceptsNumbersWithinDoublePrecision(number: String) throws {
    let once = try Attributes(json: "{\"n\":\(number)}")
    let twice = try Attributes(json: once.canonicalJSON)
    #expect(once == twice)
    #expect(once["n"] == .number(Double(number)!))
  }

  @Test func treatsEmptyObjectAsAbsent() throws {
    #expect(try Attributes(json: " { } ") == Attributes())
    #expect(try Attributes(json: "{}").canonicalJSON.isEmpty)
  }

  /// RFC 8785, section 3.2.3, sorts names by UTF-16 code units.
  @Test func sortsNamesByUTF16() throws {
    let attributes = try Attributes(
      json: """
        {"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
        "\\ud83d\\ude00":"Emoji: Grinning Face","\\u0080":"Control","\\u00f6":"Latin Small Letter O With Diaeresis"}
        """)
    #expect(
      attributes.description == """
        {"\\r":"Carriage Return","1":"One","\u{80}":"Control","ö":"Latin Small Letter O With Diaeresis",\
        "€":"Euro Sign","😀":"Emoji: Grinning Face","\u{FB33}":"Hebrew Letter Dalet With Dagesh"}
        """)
  }

  /// RFC 8785, section 3.2.2.
  @Test func writesCanonicalValues() throws {
    let attributes = try Attributes(
      json: """
        { "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
          "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/", "literals": [null, true, false] }
        """)
    #expect(
      attributes.description == """
        {"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
        "string":"€$\\u000f\\nA'B\\"\\\\\\\\\\"/"}
        """)
  }

  @Test(arguments: [
    #"{"a":1,"b":[{},[],"x",{"c":null}],"e":{"f":true,"g":false}}"#, #"{"é":"ü","€":0,"😀":[1,2],"ﬀ":123456789012345}"#,
  ])
  func keepsCanonicalJSONAndRemovesSpaces(json: String) throws {
    #expect(try Attributes(json: json).description == json)
    let spaced = json.replacing(",", with: " , ").replacing("{", with: "{ ")
    #expect(try Attributes(json: spaced).description == json)
  }

  @Test(arguments: [
    #"{"b":1,"a":1}"#, #"{"a":1,"a":1}"#, #"{"a":01}"#, #"{"a":1,}"#, #"{"a":[1,]}"#, #"{"a":{"c":1,"b":1}}"#,
    #"{"a":1]"#,
    #"{"ﬀ":0,"😀":1}"#, #"{"a":1 }"#, #"{"a":1.0}"#, #"{"a":"\u0041"}"#, #"{"a":1234567890123456789}"#, #"{"a"}"#,
    #"{"a":"#,
  ])
  func rewritesOrRejectsNonCanonicalJSON(json: String) {
    #expect((try? Attributes(json: json))?.description != json)
  }

  @Test func readsAttributesByName() throws {
    let attributes: Attributes = [
      "tags": ["a", "b"], "count": 3, "ratio": 0.5, "done": true, "none": nil, "in": ["x": 1],
    ]
    #expect(attributes["tags"] == ["a", "b"])
    #expect(attributes["count"] == 3)
    #expect(attributes["ratio"] == 0.5)
    #expect(attributes["done"] == true)
    #expect(attributes["none"] == AttributeValue.null)
    #expect(attributes["in"] == ["x": 1])
    #expect(attributes["absent"] == nil)
    #expect(try Attributes(attributes.members) == attributes)
    #expect(
      attributes.description == #"{"count":3,"done":true,"in":{"x":1},"none":null,"ratio":0.5,"tags":["a","b"]}"#)
  }

  @Test func writesLiteralsInCanonicalForm() throws {
    let literal: Attributes = [
      "ﬀ": 1, "😀": -2.5e30, "z": ["\u{1}\n", nil, [:], []], "": true, "é": ["b": 1, "a": ["y": 2, "x": [1, "\"\\"]]],
      "e\u{301}": "", "\"\n": 0, "schema": 3,
    ]
    let json = #"""
      {"z":["\u0001\n",null,{},[]],"ﬀ":1,"😀":-2.5e30,"":true,"\u00e9":{"b":1,"a":{"y":2,"x":[1,"\"\\"]}},
      "e\u0301":"","\"\n":0,"schema":3}
      """#
    #expect(literal.fault == nil)
    #expect(try literal == Attributes(json: json))
    #expect(try literal.canonicalJSON == Attributes(json: json).canonicalJSON)
    var changed = literal
    changed["schema"] = nil
    changed["m"] = ["b": nil, "a": 1]
    #expect(
      try changed.canonicalJSON
        == Attributes(json: json.replacing("\"schema\":3", with: "\"m\":{\"b\":null,\"a\":1}")).canonicalJSON)
    changed["m"] = nil
    changed["schema"] = 3
    #expect(changed == literal)
  }

  @Test func findsAttributeOfAnyName() {
    let attributes: Attributes = ["say \"hi\"\n": 1, "a": "schema", "schematic": 2, "": 3, "é": 4]
    #expect(attributes["say \"hi\"\n"] == 1)
    #expect(attributes[""] == 3)
    #expect(attributes["é"] == 4)
    #expect(attributes["schema"] == nil)
    #expect(attributes["say \"hi\""] == nil)
    #expect(Attributes()["a"] == nil)
  }

  @Test func refusesLiteralWithNameTwice() {
    let twice: Attributes = ["b": 1, "a": 2, "b": 1]
    #expect(twice.fault?.code == .duplicateName && twice.canonicalJSON.isEmpty)
    let inner: Attributes = ["b": ["a": 1, "a": 2]]
    #expect(inner.fault?.code == .inexactNumber)
  }

  @Test func rejectsNonFiniteNumbers() {
    #expect(throws: JSONError.self) { try Attributes(["n": .number(.nan)]) }
    #expect(throws: JSONError.self) { try Attributes(["n": [.number(.infinity)]]) }
  }

  @Test func errorsOmitText() {
    let error = error("{\"secret\":\"hidden\",\"secret\":1}")
    #expect(error?.description.contains("secret") == false)
    #expect(error?.description.contains("hidden") == false)
  }
}
