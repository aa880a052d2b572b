extension KeySlotRecord {
  /// A key-encryption key with its parameters, derived before the write lock is taken.
  ///
  /// Every derivation uses a new salt or ephemeral key, because wrapping with a zero nonce is safe only if each derived
  /// key wraps one root key, once. Therefore, a derived key can't be copied, and wrapping consumes it.
  package struct DerivedKey: ~Copyable, Sendable {
    let parameters: SlotParameters
    let key: Secret
  }

  /// Derives the wrapping key for a new slot. With a passphrase, this takes as long as scrypt.
  package static func derive(for target: SlotTarget, storeID: [UInt8]) throws(SealingError) -> DerivedKey {
    switch target {
    case .passphrase(let passphrase, let cost):
      let salt = try SystemRandom.bytes(SlotParameters.saltCount)
      let key = try scrypt(passphrase, salt: Self.scryptSalt(storeID, salt), cost: cost)
      return DerivedKey(parameters: .passphrase(cost: cost, salt: salt), key: key)
    case .key(let line):
      guard line.kind == .key else { throw SealingError(.invalidKeyLine, "an identity or recipient is not a key file") }
      let salt = try SystemRandom.bytes(SlotParameters.saltCount)
      let key = try hkdf(line.secret, salt: salt, info: Self.keyInfo(storeID, isTest: line.isTest))
      let fingerprint = try line.fingerprint(storeID: storeID)
      return DerivedKey(parameters: .keyFile(salt: salt, fingerprint: fingerprint), key: key)
    case .recipient(let recipient, let isTest):
      let ephemeral = try Secret.random(byteCount: 32)
      let parameters = SlotParameters.recipient(ephemeral: try X25519.publicKey(of: ephemeral), recipient: recipient)
      let shared = try X25519.sharedSecret(of: ephemeral, with: recipient)
      let key = try hkdf(shared, salt: parameters.bytes, info: Self.recipientInfo(storeID, isTest: isTest))
      return DerivedKey(parameters: parameters, key: key)
    case .external(let provider, let blob, let answer):
      guard SlotParameters.isProviderName(provider), (32...1024).contains(answer.count) else {
        throw SealingError(.parametersRefused, "a provider has a name of [a-z0-9-] and answers 32…1024 bytes")
      }
      let salt = try SystemRandom.bytes(SlotParameters.saltCount)
      let parameters = SlotParameters.external(salt: salt, provider: provider, blob: blob)
      guard parameters.bytes.count <= maximumParameters else {
        throw SealingError(.parametersRefused, "the provider's blob is too long")
      }
      return DerivedKey(
        parameters: parameters, key: try hkdf(answer, salt: salt, info: Self.info("coffer3/external", storeID)))
    }
  }

  /// Wraps `root` with a derived key, and unwraps it to verify that the slot can be opened.
  package static func wrap(_ root: RootKey, under derived: consuming DerivedKey, slot: UInt32, label: String)
    throws(SealingError) -> KeySlotRecord
  {
    var record = KeySlotRecord(
      slot: slot, kind: derived.parameters.kind, label: label, parameters: derived.parameters.bytes, wrapped: [])
    record.wrapped = try WrappingCipher.seal(
      root.secret, under: derived.key,
      authenticating: record.binding(storeID: root.storeID, generation: root.generation))
    guard let opened = try record.unwrap(with: derived.key, storeID: root.storeID, generation: root.generation),
      opened.secret.isEqual(to: root.secret)
    else { throw SealingError(.systemFailure, "a new slot did not open: nothing was changed") }
    return record
  }

  /// Returns the key-encryption key from `secret` for this slot, or `nil` if their kinds differ.
  ///
  /// A test key's slot is derived with another label, so a real key with the same bytes can't open it.
  package func derivedKey(with secret: SlotSecret, parameters: SlotParameters, storeID: [UInt8]) throws(SealingError)
    -> Secret?
  {
    switch (parameters, secret) {
    case (.passphrase(let cost, let salt), .passphrase(let passphrase)):
      return try scrypt(passphrase, salt: Self.scryptSalt(storeID, salt), cost: cost)
    case (.keyFile(let salt, _), .line(let line)) where line.kind == .key:
      return try hkdf(line.secret, salt: salt, info: Self.keyInfo(storeID, isTest: line.isTest))
    case (.recipient(let ephemeral, let recipient), .line(let line)) where line.kind == .identity:
      guard try line.recipientBytes() == recipient else { return nil }
      let shared = try X25519.sharedSecret(of: line.secret, with: ephemeral)
      return try hkdf(shared, salt: parameters.bytes, info: Self.recipientInfo(storeID, isTest: line.isTest))
    case (.external(let salt, let provider, _), .answer(let answer, let answering)) where provider == answering:
      guard (32...1024).contains(answer.count) else { return nil }
      return try hkdf(answer, salt: salt, info: Self.info("coffer3/external", storeID))
    default:
      return nil
    }
  }

  /// Returns the root key, or `nil` if `key` isn't its wrapping key.
  ///
  /// - Parameter generation: The header's `rk_generation`.
  package func unwrap(with key: Secret, storeID: [UInt8], generation: UInt64) throws(SealingError) -> RootKey? {
    // The slot isn't trusted, so the wrapped key can have any length.
    guard wrapped.count == Self.wrappedCount else { return nil }
    let secret = try WrappingCipher.open(
      wrapped, under: key, authenticating: binding(storeID: storeID, generation: generation))
    return secret.map { RootKey(secret: $0, storeID: storeID, generation: generation) }
  }

  /// The slot's part of the header MAC: `PAE(u32 slot, u32 kind, label, params, wrapped)`.
  package var headerPart: [UInt8] {
    PreAuthenticationEncoding().adding(slot).adding(kind).adding(Array(label.utf8)).adding(parameters).adding(wrapped)
      .bytes
  }

  private func binding(storeID: [UInt8], generation: UInt64) -> [UInt8] {
    PreAuthenticationEncoding("coffer3/slot").adding(storeID).adding(slot).adding(kind).adding(generation)
      .adding(parameters).bytes
  }

  private static func scryptSalt(_ storeID: [UInt8], _ salt: [UInt8]) -> [UInt8] {
    info("coffer3/scrypt", storeID) + salt
  }

  private static func keyInfo(_ storeID: [UInt8], isTest: Bool) -> [UInt8] {
    info(isTest ? "coffer3/test-key" : "coffer3/key", storeID)
  }

  private static func recipientInfo(_ storeID: [UInt8], isTest: Bool) -> [UInt8] {
    info(isTest ? "coffer3/test-x25519" : "coffer3/x25519", storeID)
  }

  private static func info(_ label: String, _ storeID: [UInt8]) -> [UInt8] {
    Array(label.utf8) + storeID
  }
}

extension KeyLine {
  /// Returns the first 8 bytes of an HKDF of a key file's key, which distinguish the key files of a store's slots. Not
  /// secret.
  package func fingerprint(storeID: [UInt8]) throws(SealingError) -> [UInt8] {
    let derived = try hkdf(secret, salt: storeID, info: Array("coffer3/fingerprint".utf8))
    return derived.withUnsafeBytes { Array($0.prefix(SlotParameters.fingerprintCount)) }
  }
}
