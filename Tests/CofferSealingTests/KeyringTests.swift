import CofferSealing
import Testing

@Suite struct KeyringTests {
  private let storeID = [UInt8](repeating: 5, count: 16)
  private let root: RootKey

  init() throws {
    root = try .random(storeID: storeID)
  }

  /// A keyring of any plaintext, authentic under the root key and generation 1.
  private func sealed(_ plaintext: [UInt8]) throws -> [UInt8] {
    let binding = PreAuthenticationEncoding("coffer1/keyring").adding(storeID).adding(UInt64(1)).bytes
    return try XAESKey(root.derive(.keyring)).seal(plaintext, authenticating: binding, nonces: RandomBytes())
  }

  private func plaintext(active: UInt32, epochs: [UInt32]) -> [UInt8] {
    var builder = ByteBuilder()
    builder.append(active)
    for epoch in epochs {
      builder.append(epoch)
      builder.append(bytes: [UInt8](repeating: UInt8(truncatingIfNeeded: epoch), count: 32))
    }
    return builder.bytes
  }

  private func refusal(active: UInt32, epochs: [UInt32]) throws -> SealingError.Code? {
    let blob = try sealed(plaintext(active: active, epochs: epochs))
    return code { () throws(SealingError) in try Keyring.open(blob, under: root, generation: 1) }
  }

  // MARK: - Refused

  @Test func epochsThatFallAreMalformed() throws {
    #expect(try refusal(active: 3, epochs: [4, 3]) == .malformed)
    #expect(try refusal(active: 3, epochs: [1, 2, 4, 3]) == .malformed)
  }

  @Test func epochsThatRepeatAreMalformed() throws {
    #expect(try refusal(active: 3, epochs: [3, 3]) == .malformed)
  }

  @Test func aMissingActiveEpochIsMalformed() throws {
    #expect(try refusal(active: 5, epochs: [3, 4]) == .malformed)
    #expect(try refusal(active: 0, epochs: [3, 4]) == .malformed)
  }

  @Test func epochsOutOfRangeAreMalformed() throws {
    #expect(try refusal(active: 0, epochs: [0]) == .malformed)
    #expect(try refusal(active: 1, epochs: [1, 1 << 31]) == .malformed)
  }

  @Test func noEpochIsMalformed() throws {
    #expect(try refusal(active: 1, epochs: []) == .malformed)
    let empty = try sealed([])
    #expect(code { () throws(SealingError) in try Keyring.open(empty, under: root, generation: 1) } == .malformed)
  }

  @Test func moreEpochsThanTheLimitAreMalformed() throws {
    #expect(try refusal(active: 1, epochs: Array(1...65)) == .malformed)
    #expect(try refusal(active: 1, epochs: Array(1...64)) == nil)
  }

  @Test func anotherLengthIsMalformed() throws {
    let whole = plaintext(active: 3, epochs: [3, 4])
    for count in 0..<whole.count where count != 40 {
      let blob = try sealed(Array(whole[..<count]))
      #expect(code { () throws(SealingError) in try Keyring.open(blob, under: root, generation: 1) } == .malformed)
    }
    let longer = try sealed(whole + [0])
    #expect(code { () throws(SealingError) in try Keyring.open(longer, under: root, generation: 1) } == .malformed)
  }

  @Test func anotherGenerationIsNotAuthentic() throws {
    let blob = try sealed(plaintext(active: 3, epochs: [3]))
    #expect(code { () throws(SealingError) in try Keyring.open(blob, under: root, generation: 2) } == .notAuthentic)
  }

  @Test func anotherStoreIsNotAuthentic() throws {
    let blob = try sealed(plaintext(active: 3, epochs: [3]))
    let other = RootKey(secret: root.secret, storeID: [UInt8](repeating: 6, count: 16))
    #expect(code { () throws(SealingError) in try Keyring.open(blob, under: other, generation: 1) } == .notAuthentic)
  }

  @Test func everyTruncationIsNotAuthentic() throws {
    let blob = try sealed(plaintext(active: 3, epochs: [3]))
    for count in 0..<blob.count {
      let cut = Array(blob[..<count])
      #expect(code { () throws(SealingError) in try Keyring.open(cut, under: root, generation: 1) } == .notAuthentic)
    }
  }

  @Test func moreEpochsThanTheLimitAreNotSealed() throws {
    let epochs = try (1...65).map { try EpochKeys.random(epoch: $0, storeID: storeID) }
    let keyring = Keyring(active: 65, epochs: epochs)
    let nonces = try RandomBytes()
    #expect(
      code { () throws(SealingError) in try keyring.seal(under: root, generation: 1, nonces: nonces) } == .malformed)
  }

  // MARK: - Sound

  @Test func sealedKeyringOpensWithTheSameKeys() throws {
    let epochs = try [2, 7, 9].map { try EpochKeys.random(epoch: $0, storeID: storeID) }
    let blob = try Keyring(active: 7, epochs: epochs).seal(under: root, generation: 4, nonces: RandomBytes())
    let opened = try Keyring.open(blob, under: root, generation: 4)
    #expect(opened.active == 7)
    #expect(opened.epochs.map(\.epoch) == [2, 7, 9])
    for (before, after) in zip(epochs, opened.epochs) {
      #expect(before.body.isEqual(to: after.body) && before.set.isEqual(to: after.set))
    }
    #expect(opened.keys(of: 9)?.epoch == 9)
    #expect(opened.keys(of: 8) == nil)
  }

  @Test(.enabled(if: FormatVectors.areThere, Corpora.areAbsent))
  func keyringOfTheFormatPageOpens() throws {
    let vectors = try FormatVectors.load()
    let keyring = try Keyring.open(
      vectors.keyring.sealed.bytes, under: vectors.root, generation: vectors.keyring.generation)
    #expect(keyring.active == vectors.keyring.active)
    #expect(keyring.epochs.map { String($0.epoch) } == vectors.keyring.epochs.keys.sorted())
    for keys in keyring.epochs {
      let root = try #require(vectors.keyring.epochs[String(keys.epoch)])
      let expected = try EpochKeys(epoch: keys.epoch, root: Secret(root.bytes), storeID: vectors.storeID.bytes)
      #expect(keys.body.isEqual(to: expected.body) && keys.lookup.isEqual(to: expected.lookup))
    }
  }

  @Test(.enabled(if: FormatVectors.areThere, Corpora.areAbsent))
  func keyringOfTheFormatPageIsWrittenAsItStandsThere() throws {
    let vectors = try FormatVectors.load()
    let opened = try Keyring.open(
      vectors.keyring.sealed.bytes, under: vectors.root, generation: vectors.keyring.generation)
    let blob = try opened.seal(under: vectors.root, generation: vectors.keyring.generation, nonces: RandomBytes())
    let binding = PreAuthenticationEncoding("coffer1/keyring").adding(vectors.storeID.bytes)
      .adding(vectors.keyring.generation).bytes
    let key = try XAESKey(vectors.root.derive(.keyring))
    #expect(try key.open(blob, authenticating: binding) == vectors.keyring.plain.bytes)
  }
}
