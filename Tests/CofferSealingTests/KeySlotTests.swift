import CofferSealing
import Testing

@Suite struct KeySlotTests {
  private let storeID = [UInt8](repeating: 5, count: 16)
  private let root: RootKey
  private let nonces: RandomBytes

  init() throws {
    root = try .random(storeID: storeID)
    nonces = try RandomBytes()
  }

  private func wrap(_ target: SlotTarget, slot: UInt32 = 1) throws -> KeySlotRecord {
    let derived = try KeySlotRecord.derive(for: target, storeID: storeID, nonces: nonces)
    return try KeySlotRecord.wrap(root, under: derived, slot: slot, label: "a label")
  }

  private func unwrap(_ record: KeySlotRecord, with secret: SlotSecret, isTest: Bool = true) throws -> RootKey? {
    let parameters = try #require(
      try SlotParameters(kind: record.kind, bytes: record.parameters, isTest: isTest))
    let key = try record.derivedKey(with: secret, parameters: parameters, storeID: storeID)
    return try key.flatMap { try record.unwrap(with: $0, storeID: storeID) }
  }

  // MARK: - Not opening

  @Test func wrongPassphraseDoesNotOpen() throws {
    let record = try wrap(.passphrase(Secret("correct"), cost: .test))
    #expect(try unwrap(record, with: .passphrase(Secret("correct "))) == nil)
    #expect(try unwrap(record, with: .passphrase(Secret("correct"))) != nil)
  }

  @Test func wrongKeyDoesNotOpen() throws {
    let record = try wrap(.key(.generate(.key)))
    #expect(try unwrap(record, with: .line(.generate(.key))) == nil)
  }

  @Test func testKeyWithTheBytesOfARealKeyDoesNotOpen() throws {
    let real = try KeyLine.generate(.key)
    let test = KeyLine(kind: .key, isTest: true, secret: real.secret)
    #expect(try unwrap(wrap(.key(real)), with: .line(test)) == nil)
    #expect(try unwrap(wrap(.key(test)), with: .line(real)) == nil)
  }

  @Test func testIdentityWithTheBytesOfARealOneDoesNotOpen() throws {
    let real = try KeyLine.generate(.identity)
    let test = KeyLine(kind: .identity, isTest: true, secret: real.secret)
    let record = try wrap(.recipient(real.recipientBytes(), isTest: false))
    #expect(try unwrap(record, with: .line(test)) == nil)
    #expect(try unwrap(record, with: .line(real)) != nil)
  }

  @Test func anotherIdentityDoesNotOpen() throws {
    let record = try wrap(.recipient(KeyLine.generate(.identity).recipientBytes(), isTest: false))
    #expect(try unwrap(record, with: .line(.generate(.identity))) == nil)
  }

  @Test func anIdentityThatAnotherRecipientStandsForIsNotTried() throws {
    let identity = try KeyLine.generate(.identity)
    let other = try KeyLine.generate(.identity).recipientBytes()
    var record = try wrap(.recipient(identity.recipientBytes(), isTest: false))
    record.parameters.replaceSubrange(32..., with: other)
    let parameters = try #require(try SlotParameters(kind: 3, bytes: record.parameters, isTest: false))
    #expect(try record.derivedKey(with: .line(identity), parameters: parameters, storeID: storeID) == nil)
  }

  @Test func anEphemeralKeyOfSmallOrderIsRefused() throws {
    let identity = try KeyLine.generate(.identity)
    var record = try wrap(.recipient(identity.recipientBytes(), isTest: false))
    record.parameters.replaceSubrange(..<32, with: [UInt8](repeating: 0, count: 32))
    #expect(throws: SealingError(.notAuthentic, "")) { try unwrap(record, with: .line(identity)) }
  }

  @Test func aRecipientOfSmallOrderIsRefused() {
    let zero = [UInt8](repeating: 0, count: 32)
    #expect(throws: SealingError(.notAuthentic, "")) { try wrap(.recipient(zero, isTest: false)) }
  }

  @Test func aSecretOfAnotherKindIsNotTried() throws {
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

  @Test func answerOfAnotherProviderOrLengthIsNotTried() throws {
    let answer = try Secret.random(byteCount: 64)
    let record = try wrap(.external(provider: "my-provider", blob: [1, 2], answer: answer))
    #expect(try unwrap(record, with: .answer(answer, provider: "other")) == nil)
    #expect(try unwrap(record, with: .answer(answer.slice(0..<31), provider: "my-provider")) == nil)
    #expect(try unwrap(record, with: .answer(.random(byteCount: 1025), provider: "my-provider")) == nil)
    #expect(try unwrap(record, with: .answer(answer, provider: "my-provider")) != nil)
  }

  @Test func aProviderOutOfBoundsIsNotWrapped() throws {
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

  @Test func anIdentityIsNoKeyFile() throws {
    let identity = try KeyLine.generate(.identity)
    #expect(throws: SealingError(.invalidKeyLine, "")) { try wrap(.key(identity)) }
  }

  @Test func aSlotMovedToAnotherNumberKindOrStoreDoesNotOpen() throws {
    let key = try KeyLine.generate(.key)
    let record = try wrap(.key(key))
    let parameters = try #require(try SlotParameters(kind: 2, bytes: record.parameters, isTest: false))
    let derived = try #require(
      try record.derivedKey(with: .line(key), parameters: parameters, storeID: storeID))
    #expect(try record.unwrap(with: derived, storeID: storeID) != nil)

    var moved = record
    moved.slot = 2
    #expect(try moved.unwrap(with: derived, storeID: storeID) == nil)
    var retyped = record
    retyped.kind = 4
    #expect(try retyped.unwrap(with: derived, storeID: storeID) == nil)
    var resalted = record
    resalted.parameters[0] ^= 1
    #expect(try resalted.unwrap(with: derived, storeID: storeID) == nil)
    #expect(try record.unwrap(with: derived, storeID: [UInt8](repeating: 6, count: 16)) == nil)
  }

  @Test func everyFlippedBitOfTheWrappedKeyDoesNotOpen() throws {
    let key = try KeyLine.generate(.key)
    let record = try wrap(.key(key))
    for bit in 0..<record.wrapped.count * 8 {
      var broken = record
      broken.wrapped[bit / 8] ^= 1 << (bit % 8)
      #expect(try unwrap(broken, with: .line(key), isTest: false) == nil)
    }
  }

  @Test func aWrappedSecretOfAnotherLengthDoesNotOpen() throws {
    let key = try KeyLine.generate(.key)
    let record = try wrap(.key(key))
    let parameters = try #require(try SlotParameters(kind: 2, bytes: record.parameters, isTest: false))
    let derived = try #require(
      try record.derivedKey(with: .line(key), parameters: parameters, storeID: storeID))
    let binding = PreAuthenticationEncoding("coffer1/slot").adding(storeID).adding(record.slot).adding(record.kind)
      .adding(record.parameters).bytes
    for count in [0, 1, 31, 33] {
      var other = record
      other.wrapped = try AES256GCM().wrap([UInt8](repeating: 1, count: count), under: derived, additional: binding)
      #expect(try other.unwrap(with: derived, storeID: storeID) == nil)
    }
    var same = record
    same.wrapped = try AES256GCM().wrap(root.secret.bytes, under: derived, additional: binding)
    #expect(same == record)
  }

  // MARK: - Opening

  @Test func everyKindOpensWithItsSecret() throws {
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
      #expect(opened.secret.isEqual(to: root.secret) && opened.storeID == storeID)
    }
  }

  @Test func aLabelMayChangeWithoutSealingAgain() throws {
    let key = try KeyLine.generate(.key)
    var record = try wrap(.key(key))
    let before = record.headerPart
    record.label = "another label"
    #expect(try unwrap(record, with: .line(key), isTest: false) != nil)
    #expect(record.headerPart != before)
  }

  @Test func noTwoWrapsShareASaltOrEphemeralKey() throws {
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
  /// A slot's `wrapped` around arbitrary bytes.
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
