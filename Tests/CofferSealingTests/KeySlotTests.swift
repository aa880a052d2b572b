import CofferSealing
import Testing

@Suite struct KeySlotTests {
  private let storeID = [UInt8](repeating: 5, count: 16)
  private let root: RootKey

  init() throws {
    root = try .random(storeID: storeID, generation: 3)
  }

  private func wrap(_ target: SlotTarget, slot: UInt32 = 1) throws -> KeySlotRecord {
    let derived = try KeySlotRecord.derive(for: target, storeID: storeID)
    return try KeySlotRecord.wrap(root, under: derived, slot: slot, label: "a label")
  }

  private func unwrap(_ record: KeySlotRecord, with secret: SlotSecret, isTest: Bool = true) throws -> RootKey? {
    let parameters = try #require(
      try SlotParameters(kind: record.kind, bytes: record.parameters, isTest: isTest))
    let key = try record.derivedKey(with: secret, parameters: parameters, storeID: storeID)
    return try key.flatMap { try record.unwrap(with: $0, storeID: storeID, generation: root.generation) }
  }

  // MARK: - Wrong secrets

  @Test func rejectsWrongPassphrase() throws {
    let record = try wrap(.passphrase(Secret("correct"), cost: .test))
    #expect(try unwrap(record, with: .passphrase(Secret("correct "))) == nil)
    #expect(try unwrap(record, with: .passphrase(Secret("correct"))) != nil)
  }

  @Test func rejectsWrongKey() throws {
    let record = try wrap(.key(.generate(.key)))
    #expect(try unwrap(record, with: .line(.generate(.key))) == nil)
  }

  @Test func rejectsTestKeyWithRealKeyBytes() throws {
    let real = try KeyLine.generate(.key)
    let test = KeyLine(kind: .key, isTest: true, secret: real.secret)
    #expect(try unwrap(wrap(.key(real)), with: .line(test)) == nil)
    #expect(try unwrap(wrap(.key(test)), with: .line(real)) == nil)
  }

  @Test func rejectsTestIdentityWithRealIdentityBytes() throws {
    let real = try KeyLine.generate(.identity)
    let test = KeyLine(kind: .identity, isTest: true, secret: real.secret)
    let record = try wrap(.recipient(real.recipientBytes(), isTest: false))
    #expect(try unwrap(record, with: .line(test)) == nil)
    #expect(try unwrap(record, with: .line(real)) != nil)
  }

  @Test func rejectsOtherIdentity() throws {
    let record = try wrap(.recipient(KeyLine.generate(.identity).recipientBytes(), isTest: false))
    #expect(try unwrap(record, with: .line(.generate(.identity))) == nil)
  }

  @Test func skipsSlotOfOtherRecipient() throws {
    let identity = try KeyLine.generate(.identity)
    let other = try KeyLine.generate(.identity).recipientBytes()
    var record = try wrap(.recipient(identity.recipientBytes(), isTest: false))
    record.parameters.replaceSubrange(32..., with: other)
    let parameters = try #require(try SlotParameters(kind: 3, bytes: record.parameters, isTest: false))
    #expect(try record.derivedKey(with: .line(identity), parameters: parameters, storeID: storeID) == nil)
  }

  @Test func rejectsEphemeralKeyOfSmallOrder() throws {
    let identity = try KeyLine.generate(.identity)
    var record = try wrap(.recipient(identity.recipientBytes(), isTest: false))
    record.parameters.replaceSubrange(..<32, with: [UInt8](repeating: 0, count: 32))
    #expect(throws: SealingError(.notAuthentic, "")) { try unwrap(record, with: .line(identity)) }
  }

  @Test func rejectsRecipientOfSmallOrder() {
    let zero = [UInt8](repeating: 0, count: 32)
    #expect(throws: SealingError(.notAuthentic, "")) { try wrap(.recipient(zero, isTest: false)) }
  }

  @Test func skipsSecretOfOtherKind() throws {
    let key = try KeyLine.generate(.key)
    let record = try wrap(.key(key))
    let identity = KeyLine(kind: .identity, isTest: false, secret: key.secret)
    let recipient = KeyLine(kind: .recipient, isTest: false, secret: key.secret)
    for secret in [
      .line(identity), .line(recipient), .passphrase(key.secret), .answer(key.secret, provider: "p"),
    ] as [SlotSecret] {
      #expect(try unwrap(record, with: secret) == nil)
    }
  }

  @Test func skipsAnswerOfOtherProviderOrLength() throws {
    let answer = try Secret.random(byteCount: 64)
    let record = try wrap(.external(provider: "my-provider", blob: [1, 2], answer: answer))
    #expect(try unwrap(record, with: .answer(answer, provider: "other")) == nil)
    #expect(try unwrap(record, with: .answer(answer.slice(0..<31), provider: "my-provider")) == nil)
    #expect(try unwrap(record, with: .answer(.random(byteCount: 1025), provider: "my-provider")) == nil)
    #expect(try unwrap(record, with: .answer(answer, provider: "my-provider")) != nil)
  }

  @Test func rejectsProviderOutOfBounds() throws {
    let answer = try Secret.random(byteCount: 32)
    let long = [UInt8](repeating: 0, count: KeySlotRecord.maximumParameters)
    for target in [
      .external(provider: "No", blob: [], answer: answer),
      .external(provider: "p", blob: [], answer: answer.slice(0..<31)),
      .external(provider: "p", blob: long, answer: answer),
    ] as [SlotTarget] {
      #expect(throws: SealingError(.parametersRefused, "")) { try wrap(target) }
    }
  }

  @Test func rejectsIdentityAsKeyFile() throws {
    let identity = try KeyLine.generate(.identity)
    #expect(throws: SealingError(.invalidKeyLine, "")) { try wrap(.key(identity)) }
  }

  /// Derives the key of a kind 2 slot from `line`.
  private func derivedKey(of record: KeySlotRecord, with line: KeyLine) throws -> Secret {
    let parameters = try #require(try SlotParameters(kind: 2, bytes: record.parameters, isTest: false))
    return try #require(try record.derivedKey(with: .line(line), parameters: parameters, storeID: storeID))
  }

  private func opens(
    _ record: KeySlotRecord, with key: Secret, storeID: [UInt8]? = nil, generation: UInt64? = nil
  ) throws -> Bool {
    try record.unwrap(
      with: key, storeID: storeID ?? self.storeID, generation: generation ?? root.generation) != nil
  }

  @Test func bindsSlotToNumberKindAndStore() throws {
    let key = try KeyLine.generate(.key)
    let record = try wrap(.key(key))
    let derived = try derivedKey(of: record, with: key)
    #expect(try opens(record, with: derived))

    var moved = record
    moved.slot = 2
    #expect(try !opens(moved, with: derived))
    var retyped = record
    retyped.kind = 4
    #expect(try !opens(retyped, with: derived))
    for index in record.parameters.indices {
      var changed = record
      changed.parameters[index] ^= 1
      #expect(try !opens(changed, with: derived), "byte \(index) of the parameters")
    }
    #expect(try !opens(record, with: derived, storeID: [UInt8](repeating: 6, count: 16)))
  }

  @Test func rejectsSlotOfOtherGeneration() throws {
    let key = try KeyLine.generate(.key)
    let record = try wrap(.key(key))
    let derived = try derivedKey(of: record, with: key)
    #expect(try opens(record, with: derived, generation: 3))
    for generation in [0, 1, 2, 4, 3 << 32, 1 << 62, .max] as [UInt64] {
      #expect(try !opens(record, with: derived, generation: generation))
    }
  }

  @Test func everyKindBindsGeneration() throws {
    let identity = try KeyLine.generate(.identity, isTest: true)
    let answer = try Secret.random(byteCount: 32)
    let passphrase = Secret("a passphrase")
    let pairs: [(SlotTarget, SlotSecret)] = [
      (.passphrase(passphrase, cost: .test), .passphrase(passphrase)),
      (.recipient(try identity.recipientBytes(), isTest: true), .line(identity)),
      (.external(provider: "p", blob: [], answer: answer), .answer(answer, provider: "p")),
    ]
    for (target, secret) in pairs {
      let record = try wrap(target)
      let parameters = try #require(try SlotParameters(kind: record.kind, bytes: record.parameters, isTest: true))
      let key = try #require(try record.derivedKey(with: secret, parameters: parameters, storeID: storeID))
      #expect(try opens(record, with: key))
      #expect(try !opens(record, with: key, generation: root.generation + 1))
    }
  }

  @Test func rejectsFlippedBitsInWrappedKey() throws {
    let key = try KeyLine.generate(.key)
    let record = try wrap(.key(key))
    for bit in 0..<record.wrapped.count * 8 {
      var broken = record
      broken.wrapped[bit / 8] ^= 1 << (bit % 8)
      #expect(try unwrap(broken, with: .line(key), isTest: false) == nil)
    }
  }

  @Test func rejectsWrappedSecretOfOtherLength() throws {
    let key = try KeyLine.generate(.key)
    let record = try wrap(.key(key))
    let derived = try derivedKey(of: record, with: key)
    let binding = PreAuthenticationEncoding("coffer3/slot").adding(storeID).adding(record.slot).adding(record.kind)
      .adding(root.generation).adding(record.parameters).bytes
    for count in [0, 1, 31, 33] {
      var other = record
      other.wrapped = try AES256GCM().wrap([UInt8](repeating: 1, count: count), under: derived, additional: binding)
      #expect(try !opens(other, with: derived))
    }
    var same = record
    same.wrapped = try AES256GCM().wrap(root.secret.bytes, under: derived, additional: binding)
    #expect(same == record)
  }

  // MARK: - Opening

  @Test func opensEveryKind() throws {
    let key = try KeyLine.generate(.key, isTest: true)
    let identity = try KeyLine.generate(.identity, isTest: true)
    let answer = try Secret.random(byteCount: 1024)
    let passphrase = Secret("a passphrase")
    let pairs: [(SlotTarget, SlotSecret)] = [
      (.passphrase(passphrase, cost: .test), .passphrase(passphrase)),
      (.key(key), .line(key)),
      (.recipient(try identity.recipientBytes(), isTest: true), .line(identity)),
      (.external(provider: "p", blob: [], answer: answer), .answer(answer, provider: "p")),
    ]
    for (number, (target, secret)) in pairs.enumerated() {
      let record = try wrap(target, slot: UInt32(number + 1))
      #expect(record.wrapped.count == KeySlotRecord.wrappedCount && record.kind == UInt32(number + 1))
      let opened = try #require(try unwrap(record, with: secret))
      #expect(opened.secret.isEqual(to: root.secret) && opened.storeID == storeID && opened.generation == 3)
    }
  }

  // MARK: - Fingerprints

  private func fingerprint(of record: KeySlotRecord) throws -> [UInt8]? {
    try SlotParameters(kind: record.kind, bytes: record.parameters, isTest: true)?.fingerprint()
  }

  @Test func keyFileSlotsShareFingerprint() throws {
    let key = try KeyLine.generate(.key)
    let records = try (0..<3).map { _ in try wrap(.key(key)) }
    let expected = try key.fingerprint(storeID: storeID)
    #expect(expected.count == SlotParameters.fingerprintCount)
    for record in records {
      #expect(try fingerprint(of: record) == expected && Array(record.parameters[16...]) == expected)
    }
    #expect(try fingerprint(of: wrap(.key(.generate(.key)))) != expected)
  }

  @Test func keyFileFingerprintDiffersByStore() throws {
    let key = try KeyLine.generate(.key)
    #expect(try key.fingerprint(storeID: storeID) != key.fingerprint(storeID: [UInt8](repeating: 6, count: 16)))
  }

  @Test func testKeyFingerprintDependsOnBytes() throws {
    let real = try KeyLine.generate(.key)
    let test = KeyLine(kind: .key, isTest: true, secret: real.secret)
    #expect(try real.fingerprint(storeID: storeID) == test.fingerprint(storeID: storeID))
  }

  @Test func recipientFingerprintDependsOnPublicKey() throws {
    let recipient = try KeyLine.generate(.identity).recipientBytes()
    let record = try wrap(.recipient(recipient, isTest: false))
    #expect(try fingerprint(of: record) == Array(sha256(recipient)[..<8]))
  }

  @Test func passphrasesAndProvidersLackFingerprints() throws {
    #expect(try fingerprint(of: wrap(.passphrase(Secret("a passphrase"), cost: .test))) == nil)
    #expect(try fingerprint(of: wrap(.external(provider: "p", blob: [], answer: .random(byteCount: 32)))) == nil)
  }

  /// Readers also try slots with other fingerprints.
  @Test func derivedKeyIgnoresFingerprint() throws {
    let key = try KeyLine.generate(.key)
    let record = try wrap(.key(key))
    var other = record
    other.parameters.replaceSubrange(16..., with: [UInt8](repeating: 0, count: 8))
    #expect(try derivedKey(of: other, with: key).isEqual(to: derivedKey(of: record, with: key)))
  }

  // MARK: - Labels and salts

  @Test func changesLabelWithoutResealing() throws {
    let key = try KeyLine.generate(.key)
    var record = try wrap(.key(key))
    let before = record.headerPart
    record.label = "another label"
    #expect(try unwrap(record, with: .line(key), isTest: false) != nil)
    #expect(record.headerPart != before)
  }

  @Test func drawsNewSaltsAndEphemeralKeys() throws {
    let identity = try KeyLine.generate(.identity)
    for target in [
      .passphrase(Secret("a passphrase"), cost: .test), .key(try .generate(.key)),
      .recipient(try identity.recipientBytes(), isTest: false),
      .external(provider: "p", blob: [], answer: try .random(byteCount: 32)),
    ] as [SlotTarget] {
      let records = try (0..<20).map { _ in try wrap(target) }
      #expect(Set(records.map(\.parameters)).count == records.count)
      #expect(Set(records.map(\.wrapped)).count == records.count)
    }
  }
}

extension AES256GCM {
  /// Wraps arbitrary bytes like a slot's secret.
  fileprivate func wrap(_ plaintext: [UInt8], under key: Secret, additional: [UInt8]) throws -> [UInt8] {
    var wrapped = [UInt8](repeating: 0, count: plaintext.count + Self.tagCount)
    let nonce = [UInt8](repeating: 0, count: Self.nonceCount)
    try wrapped.withUnsafeMutableBytes { wrapped in
      try plaintext.withUnsafeBytes { plaintext in
        try additional.withUnsafeBytes { additional in
          try nonce.withUnsafeBytes { nonce in
            try key.withUnsafeBytes { key in
              try seal(
                plaintext, authenticating: additional, key: key, nonce: nonce,
                ciphertext: UnsafeMutableRawBufferPointer(rebasing: wrapped[..<plaintext.count]),
                tag: UnsafeMutableRawBufferPointer(rebasing: wrapped[plaintext.count...]))
            }
          }
        }
      }
    }
    return wrapped
  }
}
