import CofferDocuments
import Testing

@testable import CofferFormats

@Suite struct FrontMatterTests {
  private func read(_ text: String) throws -> Drafted {
    var options = ReadingOptions()
    options.readsFrontMatter = true
    return try #require(try drafts(TextSource(MemoryByteSource(text), options: options)).first)
  }

  @Test(
    arguments: [
      ("a: 1", #"{"a":1}"#), ("a: -1.5", #"{"a":-1.5}"#), ("a: 1.10", #"{"a":"1.10"}"#), ("a: 007", #"{"a":"007"}"#),
      ("a: true", #"{"a":true}"#), ("a: yes", #"{"a":"yes"}"#), ("a: null", #"{"a":null}"#), ("a: ~", #"{"a":null}"#),
      ("a:", #"{"a":null}"#), ("a: ''", #"{"a":""}"#), ("a: 'it''s'", #"{"a":"it's"}"#),
      (#"a: "q\"\n""#, #"{"a":"q\"\n"}"#), ("a: b: c", nil), ("a: 2024-01-02", #"{"a":"2024-01-02"}"#),
      ("a: https://example.org/#x", #"{"a":"https://example.org/#x"}"#), ("a b:  c d ", #"{"a b":"c d"}"#),
      ("\"x: y\": 1", #"{"x: y":1}"#), ("a: []", #"{"a":[]}"#),
      ("a: [1, x y, 'z, w', null]", #"{"a":[1,"x y","z, w",null]}"#),
      ("a:\n- 1\n- x\nb: 2", #"{"a":[1,"x"],"b":2}"#),
      ("a:\r\n  - x\r\n\r\n  -\r\nb:\r", #"{"a":["x",null],"b":null}"#),
      ("", nil), ("\n", nil), ("ü: ä😀", #"{"ü":"ä😀"}"#), ("a: -x", #"{"a":"-x"}"#),
    ] as [(String, String?)])
  func readsScalarsAndLists(source: String, json: String?) throws {
    let text = "---\n\(source)\n---\ntext\n"
    guard !source.contains("b: c") else {
      #expect(throws: FormatError(.malformed, "")) { try read(text) }
      return
    }
    let found = try read(text)
    #expect(found.attributes == json)
    #expect(found.text == "text\n")
  }

  @Test(arguments: [
    "a: {b: 1}", "a:\n  b: 1", "a: |\n  text", "a: >", "a: &x 1", "a: *x", "a: !t 1", "# comment", "a: 1 # comment",
    "- a",
    "a: [1, [2]]", "a: [1,]", "a: [1", "a: [1] 2", "a: 'x", "a: \"x\" y", "no colon", " a: 1", "a: 1\na: 2",
    "a: b\n  c",
    "a: 1\n- x", "? a", "a:\n- x: 1", "a: @x", "a: `x", "a: %x", "a:b",
  ])
  func rejectsOtherYAML(source: String) {
    #expect(throws: FormatError(.malformed, "")) { try read("---\n\(source)\n---\ntext\n") }
  }

  @Test(arguments: ["text", "--- \na: 1\n---\n", "\n---\na: 1\n---\n", "----\n", ""])
  func preservesTextWithoutFrontMatter(text: String) throws {
    #expect(try read(text).text == text)
    #expect(try read(text).attributes == nil)
  }

  @Test func rejectsUnterminatedFrontMatter() {
    #expect(throws: FormatError(.malformed, "")) { try read("---\na: 1\n") }
    #expect(throws: FormatError(.malformed, "")) { try read("---") }
  }

  @Test func roundTripsAttributes() throws {
    let strings = [
      "", "x", " x", "x ", "1", "1.10", "true", "null", "~", "-", "- x", "-x", "a: b", "a:", "a #b", "#", "[x", "x]",
      "{", "'", "\"",
      "a\nb", "a\r", "\u{0}", "\u{7F}", "ä😀", "e\u{301}", "a, b", "---", "...", ":", "?", "!", "@", "`", "%", "&", "*",
      "|", ">",
    ]
    var members: [String: AttributeValue] = [
      "numbers": [1, -0.5, 1e300, nil, true], "none": [], "all": .array(strings.map { .string($0) }),
    ]
    for (index, string) in strings.enumerated() {
      members["s\(index)"] = .string(string)
      members[string] = .number(Double(index))
    }
    let attributes = try Attributes(members)
    for text in ["text", "---\n", "", "---\na: 1\n---\n"] {
      for attributes in [attributes, Attributes()] {
        let bytes = try Array(text.utf8).withUnsafeBytes { utf8 in
          try FrontMatter.bytes(for: OpenedDocument(header: Samples.header(1, attributes: attributes), utf8: utf8))
        }
        let found = try read(String(decoding: bytes, as: UTF8.self) + text)
        #expect(found.text == text)
        #expect(found.attributes ?? "{}" == attributes.description)
      }
    }
  }

  @Test func rejectsNestedValues() throws {
    for value in [["a": 1], [[1]], [["a": 1]]] as [AttributeValue] {
      let header = Samples.header(7, attributes: try Attributes(["x": value]))
      let error = #expect(throws: FormatError(.unencodable, "")) {
        try [UInt8]().withUnsafeBytes { try FrontMatter.bytes(for: OpenedDocument(header: header, utf8: $0)) }
      }
      #expect(error?.description.contains("document 7") == true)
    }
  }

  /// Names are compared by their bytes, as in attributes.
  @Test func keepsNamesThatDifferInComposition() throws {
    let json = try #require(try read("---\n\u{E9}: 1\ne\u{301}: 2\n---\n").attributes)
    #expect(json.utf8.elementsEqual("{\"e\u{301}\":2,\"\u{E9}\":1}".utf8))
  }
}
