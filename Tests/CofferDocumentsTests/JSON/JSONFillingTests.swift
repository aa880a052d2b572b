import Testing

@testable import CofferDocuments

/// Tests adding missing members to objects.
struct JSONFillingTests {
  private func filled(_ json: String, _ defaults: String) -> String? {
    Array(json.utf8).withUnsafeBytes { json in
      Array(defaults.utf8).withUnsafeBytes { JSONFilling.object(json, with: $0) }
    }.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [
    ("{}", "{}", "{}"), ("{}", #"{"a":1}"#, #"{"a":1}"#), (#"{"a":1}"#, "{}", #"{"a":1}"#),
    (
      #" { "b" : 12345678901234567890 } "#, #"{"a":[1,{"x":2}],"b":0}"#,
      #"{"b" : 12345678901234567890,"a":[1,{"x":2}]}"#
    ),
    (#"{"\u0061":1}"#, #"{"a":2}"#, #"{"\u0061":1}"#), (#"{"a":{"x":1}}"#, #"{"a":{"y":2}}"#, #"{"a":{"x":1}}"#),
  ])
  func appendsMissingMembers(json: String, defaults: String, wanted: String) {
    #expect(filled(json, defaults) == wanted)
  }

  @Test(arguments: ["", "[1]", "{", #"{"a"}"#, "1"])
  func rejectsNonObjects(json: String) {
    #expect(filled(json, "{}") == nil)
    #expect(filled("{}", json) == nil)
  }
}
