import CofferSealing
import Testing

/// Tests derived keys and unwrapped secrets of the slots in primitives.json.
@Suite struct FormatSlotTests {
  private let vectors: FormatVectors

  init() throws {
    vectors = try FormatVectors.load()
  }

  private func derivedKey(_ slot: FormatVectors.Slot, with secret: SlotSecret, isTest: Bool) throws -> Secret {
    let parameters = try #require(try SlotParameters(kind: slot.kind, bytes: slot.params.bytes, isTest: isTest))
    #expect(parameters.bytes == slot.params.bytes && parameters.kind == slot.kind)
    return try #require(
      try slot.record.derivedKey(with: secret, parameters: parameters, storeID: vectors.storeID.bytes))
  }

  private func check(_ slot: FormatVectors.Slot, with secret: SlotSecret, isTest: Bool) throws {
    let key = try derivedKey(slot, with: secret, isTest: isTest)
    #expect(key.bytes == slot.kek.bytes)
    let generation = vectors.header.generation
    let root = try #require(
      try slot.record.unwrap(with: key, storeID: vectors.storeID.bytes, generation: generation))
    #expect(root.secret.bytes == vectors.rk.bytes && root.generation == generation)
    // Only the bound generation identifies the wrapped root key.
    for other in [0, generation - 1, generation + 1, generation << 32] {
      #expect(try slot.record.unwrap(with: key, storeID: vectors.storeID.bytes, generation: other) == nil)
    }
  }

  @Test func passphrasesOpenSlots() throws {
    var count = 0
    for slot in vectors.slots {
      guard let passphrase = slot.passphrase else { continue }
      let typed = try Passphrase.normalized(Secret(passphrase))
      try check(slot, with: .passphrase(typed), isTest: slot.test == true)
      count += 1
    }
    #expect(count == 3)
  }

  @Test func decomposedPassphraseOpensComposedSlot() throws {
    let slot = try #require(vectors.slots.first { $0.passphraseNFD != nil })
    let decomposed = try #require(slot.passphraseNFD)
    #expect(Array(decomposed.utf8) != Array((slot.passphrase ?? "").utf8))
    try check(slot, with: .passphrase(Passphrase.normalized(Secret(decomposed))), isTest: true)
    let untouched = try derivedKey(slot, with: .passphrase(Secret(decomposed)), isTest: true)
    #expect(untouched.bytes != slot.kek.bytes)
  }

  @Test func keyFilesOpenSlots() throws {
    var kinds: [Bool] = []
    for slot in vectors.slots {
      guard let line = slot.keyLine else { continue }
      let key = try KeyLine(parsing: Secret(line))
      try check(slot, with: .line(key), isTest: key.isTest)
      kinds.append(key.isTest)
    }
    #expect(kinds == [true, false])
  }

  @Test func matchesPublishedFingerprints() throws {
    var kinds: [UInt32] = []
    for slot in vectors.slots {
      guard let fingerprint = slot.fingerprint else { continue }
      let parameters = try #require(try SlotParameters(kind: slot.kind, bytes: slot.params.bytes, isTest: true))
      #expect(try parameters.fingerprint() == fingerprint.bytes)
      if let line = slot.keyLine {
        #expect(try KeyLine(parsing: Secret(line)).fingerprint(storeID: vectors.storeID.bytes) == fingerprint.bytes)
      }
      kinds.append(slot.kind)
    }
    #expect(kinds == [2, 2, 3])
  }

  @Test func identityOpensRecipientSlots() throws {
    let slots = vectors.slots.filter { $0.kind == 3 }
    #expect(slots.count == 2)
    let identity = try KeyLine(parsing: Secret(#require(slots[0].identityLine)))
    #expect(try identity.recipient() == slots[0].recipientLine)
    try check(slots[0], with: .line(identity), isTest: true)
    let real = KeyLine(kind: .identity, isTest: false, secret: identity.secret)
    try check(slots[1], with: .line(real), isTest: false)
  }

  @Test func derivesSharedSecretFromEphemeralKey() throws {
    let slot = try #require(vectors.slots.first { $0.ephemeralSecret != nil })
    let ephemeral = Secret(try #require(slot.ephemeralSecret).bytes)
    #expect(try X25519.publicKey(of: ephemeral) == Array(slot.params.bytes[..<32]))
    let shared = try X25519.sharedSecret(of: ephemeral, with: Array(slot.params.bytes[32...]))
    #expect(shared.bytes == slot.shared?.bytes)
  }

  @Test func externalAnswerOpensSlot() throws {
    let slot = try #require(vectors.slots.first { $0.kind == 4 })
    let answer = Secret(try #require(slot.answer).bytes)
    try check(slot, with: .answer(answer, provider: "my-prov"), isTest: true)
    let parameters = try SlotParameters(kind: 4, bytes: slot.params.bytes, isTest: true)
    guard case .external(_, "my-prov", let blob) = parameters else {
      Issue.record("not an external slot")
      return
    }
    #expect(blob == Array("blob bytes".utf8))
  }

  @Test func rejectsZeroPublicKey() throws {
    let point = vectors.x25519AllZero.public.bytes
    let secret = try Secret.random(byteCount: 32)
    #expect(code { () throws(SealingError) in try X25519.sharedSecret(of: secret, with: point) } == .notAuthentic)
  }
}
