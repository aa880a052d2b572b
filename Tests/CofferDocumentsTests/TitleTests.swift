import CofferDocuments
import Testing

@Suite struct TitleTests {
  @Test(arguments: ["", "\n", "\r\n\r\n", "\n\n\r"])
  func textWithoutALineHasNoTitle(text: String) {
    #expect(TitleRule.derivedTitle(from: text) == nil)
  }

  @Test(arguments: [("a", "a"), ("\n\r\nfirst\nsecond", "first"), ("a\rb", "a"), ("a\r\nb", "a")])
  func titleIsTheFirstLineThatIsNotEmpty(text: String, title: String) {
    #expect(TitleRule.derivedTitle(from: text) == title)
  }

  @Test func charactersAreNeverCut() {
    let family = "👨‍👩‍👧‍👦"
    let text = String(repeating: family, count: 60)
    #expect(TitleRule.derivedTitle(from: text) == String(repeating: family, count: 50))
    let combined = "e" + String(repeating: "\u{301}", count: 300)
    #expect(TitleRule.derivedTitle(from: combined + "x\n") == combined + "x")
    #expect(
      TitleRule.derivedTitle(from: String(repeating: "x", count: 49) + combined) == String(repeating: "x", count: 49)
        + combined)
  }
}
