import CofferSealing
import Testing

@Suite struct PassphraseTests {
  private func refusal(_ typed: [UInt8]) -> SealingError.Code? {
    code { () throws(SealingError) in try Passphrase.normalized(Secret(typed)) }
  }

  @Test func rejectsEmptyPassphrase() {
    #expect(refusal([]) == .invalidPassphrase)
  }

  @Test func rejectsNUL() {
    #expect(refusal([0]) == .invalidPassphrase)
    #expect(refusal(Array("pass\0word".utf8)) == .invalidPassphrase)
    #expect(refusal(Array("pässword\0".utf8)) == .invalidPassphrase)
  }

  @Test(
    arguments: [
      [0x80], [0xFF], [0xC3], [0xC0, 0x80], [0xC3, 0x28], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
      [0x61, 0xC3],
    ] as [[UInt8]])
  func rejectsInvalidUTF8(_ typed: [UInt8]) {
    #expect(refusal(typed) == .invalidPassphrase)
  }

  @Test func rejectsOverlongPassphrase() {
    #expect(refusal([UInt8](repeating: 0x61, count: Passphrase.maximumByteCount + 1)) == .invalidPassphrase)
    #expect(refusal([UInt8](repeating: 0x61, count: Passphrase.maximumByteCount)) == nil)
  }

  @Test(arguments: [" leading", "trailing ", "\ttab", "line\n", "\r\n", "correct horse"])
  func leavesASCIIUnchanged(_ typed: String) throws {
    #expect(try Passphrase.normalized(Secret(typed)).bytes == Array(typed.utf8))
  }

  /// Tests decomposed, reordered, Hangul, singleton and excluded sequences, and text already in NFC.
  @Test(arguments: [
    ("u\u{308}", "ü"), ("a\u{323}\u{302}", "\u{1EAD}"), ("a\u{302}\u{323}", "\u{1EAD}"),
    ("\u{1112}\u{1161}\u{11AB}", "\u{D55C}"), ("\u{212B}", "\u{C5}"), ("\u{2126}", "\u{3A9}"),
    ("\u{958}", "\u{915}\u{93C}"), ("\u{1D15E}", "\u{1D157}\u{1D165}"), ("Grüße, 世界 🐎", "Grüße, 世界 🐎"),
    ("xu\u{308}x1\u{301}e\u{301} ", "x\u{FC}x1\u{301}\u{E9} "), ("\u{301}e", "\u{301}e"), ("ﬁ①", "ﬁ①"),
  ])
  func composesText(_ typed: String, _ expected: String) throws {
    #expect(try Passphrase.normalized(Secret(typed)).bytes == Array(expected.utf8))
  }

  /// Uses the scalar with the most growth, at the maximum length.
  @Test func normalizesTextWithMostGrowth() throws {
    let typed = String(repeating: "\u{1D160}", count: Passphrase.maximumByteCount / 4)
    let expected = String(repeating: "\u{1D158}\u{1D165}\u{1D16E}", count: Passphrase.maximumByteCount / 4)
    #expect(try Passphrase.normalized(Secret(typed)).bytes == Array(expected.utf8))
  }

  @Test(arguments: [
    ("word", "word"), ("word\n", "word"), ("word\r\n", "word"), ("word\n\n", "word\n"), ("word\r", "word\r"),
    ("\n", ""), ("\r\n", ""), ("", ""), (" word \n", " word "),
  ])
  func dropsOneLineEnd(_ read: String, _ expected: String) {
    #expect(Passphrase.droppingLineEnd(Secret(read)).bytes == Array(expected.utf8))
  }
}
