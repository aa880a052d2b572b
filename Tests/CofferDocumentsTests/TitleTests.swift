import CofferDocuments
import Testing

@Suite struct TitleTests {
  @Test(arguments: ["", "\n", "\r\n\r\n", "\n\n\r"])
  func returnsNilForBlankText(text: String) {
    #expect(TitleRule.derivedTitle(from: text) == nil)
  }

  @Test(arguments: [("a", "a"), ("\n\r\nfirst\nsecond", "first"), ("a\rb", "a"), ("a\r\nb", "a")])
  func usesFirstNonEmptyLine(text: String, title: String) {
    #expect(TitleRule.derivedTitle(from: text) == title)
  }

  /// Equal strings can have different bytes.
  @Test func comparesTitlesByBytes() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let old = Document(title: decomposed, text: decomposed)
    func title(_ given: String) -> [UInt8]? {
      TitleRule.derived.title(for: Document(title: given, text: "new"), insteadOf: old).map { Array($0.utf8) }
    }
    #expect(title(decomposed) == Array("new".utf8))
    #expect(title(composed) == Array(composed.utf8))
  }

  @Test func keepsCharactersWhole() {
    let family = "👨‍👩‍👧‍👦"
    let text = String(repeating: family, count: 60)
    #expect(TitleRule.derivedTitle(from: text) == String(repeating: family, count: 50))
    let combined = "e" + String(repeating: "\u{301}", count: 300)
    #expect(TitleRule.derivedTitle(from: combined + "x\n") == combined + "x")
    #expect(
      TitleRule.derivedTitle(from: String(repeating: "x", count: 49) + combined) == String(repeating: "x", count: 49)
        + combined)
  }

  @Test func cutsEndlessCharacterBetweenMarks() throws {
    for marks in [2047, 2048, 600_000] {
      let title = try #require(TitleRule.derivedTitle(from: "e" + String(repeating: "\u{301}", count: marks) + "\nx"))
      #expect(title.utf8.count == 4095 && title.unicodeScalars.first == "e")
    }
    let long = String(repeating: "e" + String(repeating: "\u{301}", count: 100), count: 50)
    #expect(try #require(TitleRule.derivedTitle(from: long)).utf8.count <= 4096)
  }
}
