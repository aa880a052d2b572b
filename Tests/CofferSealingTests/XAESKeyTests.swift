import CofferSealing
import CofferTestSupport
import Testing

@Suite struct XAESKeyTests {
  private let key = Secret([UInt8](repeating: 7, count: 32))
  private let text = Array("some text".utf8)
  private let additional = Array("row 1".utf8)

  private func sealed() throws -> [UInt8] {
    try XAESKey(key).seal(text, authenticating: additional)
  }

  // MARK: - Authentication

  @Test func rejectsEveryFlippedBit() throws {
    let cipher = try XAESKey(key)
    let blob = try sealed()
    for bit in 0..<blob.count * 8 {
      var broken = blob
      broken[bit / 8] ^= 1 << (bit % 8)
      #expect(code { () throws(SealingError) in try cipher.open(broken, authenticating: additional) } == .notAuthentic)
    }
  }

  @Test func rejectsEveryTruncation() throws {
    let cipher = try XAESKey(key)
    let blob = try sealed()
    for count in 0..<blob.count {
      let cut = Array(blob[..<count])
      #expect(code { () throws(SealingError) in try cipher.open(cut, authenticating: additional) } == .notAuthentic)
      #expect(
        code { () throws(SealingError) in try cipher.openSecret(cut, authenticating: additional) } == .notAuthentic)
    }
  }

  @Test func rejectsOtherAdditionalData() throws {
    let cipher = try XAESKey(key)
    let blob = try sealed()
    for other in [[], Array("row 2".utf8), additional + [0]] {
      #expect(code { () throws(SealingError) in try cipher.open(blob, authenticating: other) } == .notAuthentic)
    }
  }

  @Test func rejectsOtherKey() throws {
    let other = try XAESKey(.random(byteCount: 32))
    let blob = try sealed()
    #expect(code { () throws(SealingError) in try other.open(blob, authenticating: additional) } == .notAuthentic)
  }

  @Test func failedAuthenticationWipesThePlaintext() throws {
    var blob = try sealed()
    blob[blob.count - 1] ^= 1
    var plaintext = [UInt8](repeating: 0xAA, count: text.count)
    #expect(throws: SealingError(.notAuthentic, "")) {
      try plaintext.withUnsafeMutableBytes { plaintext in
        try blob.withUnsafeBytes { blob in
          try additional.withUnsafeBytes { try XAESKey(key).open(blob, authenticating: $0, plaintext: plaintext) }
        }
      }
    }
    #expect(plaintext == [UInt8](repeating: 0, count: text.count))
  }

  @Test func keyWorksAfterFailedOpening() throws {
    let cipher = try XAESKey(key)
    let blob = try sealed()
    _ = try? cipher.open(Array(blob.reversed()), authenticating: additional)
    #expect(try cipher.open(blob, authenticating: additional) == text)
  }

  // MARK: - Published vectors

  @Test func passesSelfTest() {
    #expect(XAESKey.selfTestPassed)
  }

  @Test(
    arguments: [
      (1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
      (3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
    ] as [(UInt8, String, String)])
  func matchesPublishedVectors(_ keyByte: UInt8, _ additional: String, _ expected: String) throws {
    let cipher = try XAESKey(Secret([UInt8](repeating: keyByte, count: 32)))
    let nonce = Array("ABCDEFGHIJKLMNOPQRSTUVWX".utf8)
    let plaintext = Array("XAES-256-GCM".utf8)
    let blob = nonce + Hex(expected).bytes
    #expect(try cipher.seal(plaintext, authenticating: Array(additional.utf8), nonce: nonce) == blob)
    #expect(try cipher.open(blob, authenticating: Array(additional.utf8)) == plaintext)
  }

  @Test func matchesPublishedSHAKEStream() {
    var stream = SHAKE128()
    #expect(stream.squeeze(16) == Hex("7f9c2ba4e88f827d616045507605853e").bytes)
  }

  @Test(.slow) func matchesTenThousandAccumulatedRounds() throws {
    #expect(
      try accumulated(rounds: 10_000) == Hex("e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939").bytes)
  }

  @Test(.enabled(if: isLongRun, "a million rounds: set COFFER_LONG=1"))
  func matchesMillionAccumulatedRounds() throws {
    #expect(
      try accumulated(rounds: 1_000_000)
        == Hex("2163ae1445985a30b60585ee67daa55674df06901b890593e824b8a7c885ab15").bytes)
  }

  private func accumulated(rounds: Int) throws -> [UInt8] {
    var input = SHAKE128()
    var output = SHAKE128()
    for _ in 0..<rounds {
      let cipher = try XAESKey(Secret(input.squeeze(32)))
      let nonce = input.squeeze(24)
      let plaintext = input.squeeze(Int(input.squeeze(1)[0]))
      let additional = input.squeeze(Int(input.squeeze(1)[0]))
      let blob = try cipher.seal(plaintext, authenticating: additional, nonce: nonce)
      try #require(try cipher.open(blob, authenticating: additional) == plaintext)
      output.absorb(blob[XAESKey.nonceCount...])
    }
    return output.squeeze(32)
  }

  // MARK: - Sealing

  @Test func everySealHasAUniqueNonce() throws {
    let cipher = try XAESKey(key)
    let seen = try (0..<1000).map { _ in
      try Array(cipher.seal(text, authenticating: [])[..<XAESKey.nonceCount])
    }
    #expect(Set(seen).count == seen.count)
  }

  @Test func sealsEmptyText() throws {
    let cipher = try XAESKey(key)
    let blob = try cipher.seal([], authenticating: additional)
    #expect(blob.count == XAESKey.overhead)
    #expect(try cipher.open(blob, authenticating: additional) == [])
    #expect(code { () throws(SealingError) in try cipher.open(blob, authenticating: []) } == .notAuthentic)
  }

  @Test func sealsAndOpensWithSameKey() throws {
    let cipher = try XAESKey(key)
    let first = try cipher.seal(text, authenticating: additional)
    let second = try cipher.seal(additional, authenticating: text)
    #expect(try cipher.open(first, authenticating: additional) == text)
    #expect(try cipher.open(second, authenticating: text) == additional)
    #expect(first != second)
  }
}
