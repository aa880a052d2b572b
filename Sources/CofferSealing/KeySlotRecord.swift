/// A row of `coffer_slot` with the root key, wrapped with a person's or program's secret (FORMAT, "Slots").
package struct KeySlotRecord: Hashable, Sendable {
  package static let wrappedCount = 48
  package static let maximumSlots = 64
  package static let maximumLabel = 255
  /// The maximum length of `params`, and of a damaged slot's `wrapped`.
  package static let maximumParameters = 4096

  package var slot: UInt32
  /// The slot's kind in the file. An unknown kind only makes its slot unusable here.
  package var kind: UInt32
  package var label: String
  package var parameters: [UInt8]
  package var wrapped: [UInt8]

  package init(slot: UInt32, kind: UInt32, label: String, parameters: [UInt8], wrapped: [UInt8]) {
    self.slot = slot
    self.kind = kind
    self.label = label
    self.parameters = parameters
    self.wrapped = wrapped
  }

  /// Returns the reason that the slot can't be opened by anyone, or `nil` if there isn't one or finding it requires the
  /// slot's secret.
  package func fault(isTest: Bool) throws(SealingError) -> String? {
    do throws(SealingError) {
      guard let known = try SlotParameters(kind: kind, bytes: parameters, isTest: isTest, isRaised: true) else {
        // A later version may wrap its keys differently.
        return nil
      }
      guard wrapped.count == Self.wrappedCount else { return "its wrapped key has another length" }
      guard wrapped.contains(where: { $0 != 0 }) else { return "its wrapped key is zeros" }
      guard case .recipient(let ephemeral, let recipient) = known else { return nil }
      for key in [ephemeral, recipient] where X25519.isSmallOrder(key) {
        return "its public key is of small order"
      }
      return nil
    } catch {
      guard error.code == .parametersRefused else { throw error }
      return error.message
    }
  }
}

/// A slot's parameters, which are within their bounds.
package enum SlotParameters: Hashable, Sendable {
  /// Kind 1.
  case passphrase(cost: ScryptCost, salt: [UInt8])
  /// Kind 2.
  case keyFile(salt: [UInt8], fingerprint: [UInt8])
  /// Kind 3.
  case recipient(ephemeral: [UInt8], recipient: [UInt8])
  /// Kind 4.
  case external(salt: [UInt8], provider: String, blob: [UInt8])

  package static let saltCount = 16
  package static let fingerprintCount = 8

  /// Returns a fingerprint that distinguishes keys of the same kind, or `nil` for passphrases and providers.
  package func fingerprint() throws(SealingError) -> [UInt8]? {
    switch self {
    case .passphrase, .external: nil
    case .keyFile(_, let fingerprint): fingerprint
    case .recipient(_, let recipient): Array(try sha256(recipient).prefix(Self.fingerprintCount))
    }
  }

  package var kind: UInt32 {
    switch self {
    case .passphrase: 1
    case .keyFile: 2
    case .recipient: 3
    case .external: 4
    }
  }

  package var bytes: [UInt8] {
    switch self {
    case .passphrase(let cost, let salt): [cost.logN, cost.r, cost.p] + salt
    case .keyFile(let salt, let fingerprint): salt + fingerprint
    case .recipient(let ephemeral, let recipient): ephemeral + recipient
    case .external(let salt, let provider, let blob): salt + [UInt8(provider.utf8.count)] + Array(provider.utf8) + blob
    }
  }

  /// - Returns: `nil` for an unknown kind.
  /// - Throws: `parametersRefused`, with the field's name.
  package init?(kind: UInt32, bytes: [UInt8], isTest: Bool, isRaised: Bool = false) throws(SealingError) {
    func refused(_ what: String) -> SealingError { SealingError(.parametersRefused, what) }
    switch kind {
    case 1:
      guard bytes.count == 3 + Self.saltCount else { throw refused("params of a passphrase slot has another length") }
      let cost = ScryptCost(logN: bytes[0], r: bytes[1], p: bytes[2])
      try cost.check(isTest: isTest, isRaised: isRaised)
      self = .passphrase(cost: cost, salt: Array(bytes[3...]))
    case 2:
      guard bytes.count == Self.saltCount + Self.fingerprintCount else {
        throw refused("params of a key file slot has another length")
      }
      self = .keyFile(salt: Array(bytes[..<Self.saltCount]), fingerprint: Array(bytes[Self.saltCount...]))
    case 3:
      guard bytes.count == 64 else { throw refused("params of a recipient slot has another length") }
      self = .recipient(ephemeral: Array(bytes[..<32]), recipient: Array(bytes[32...]))
    case 4:
      guard bytes.count >= Self.saltCount + 2 else { throw refused("params of an external slot is too short") }
      let nameEnd = Self.saltCount + 1 + Int(bytes[Self.saltCount])
      guard nameEnd <= bytes.count, bytes.count <= KeySlotRecord.maximumParameters else {
        throw refused("the provider name of an external slot has another length")
      }
      let name = String(decoding: bytes[(Self.saltCount + 1)..<nameEnd], as: UTF8.self)
      guard Self.isProviderName(name) else { throw refused("the provider name of an external slot is not [a-z0-9-]") }
      self = .external(salt: Array(bytes[..<Self.saltCount]), provider: name, blob: Array(bytes[nameEnd...]))
    default:
      return nil
    }
  }

  /// Returns whether a name matches `[a-z0-9-]{1,32}`.
  package static func isProviderName(_ name: String) -> Bool {
    (1...32).contains(name.utf8.count)
      && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
  }
}

/// A secret that may open a slot.
package enum SlotSecret: Sendable {
  /// A normalized passphrase (``Passphrase/normalized(_:)``).
  case passphrase(Secret)
  /// A key or an identity.
  case line(KeyLine)
  /// A provider's answer to a slot's blob, with 32…1024 bytes.
  case answer(Secret, provider: String)
}

/// The secret or recipient of a new slot.
package enum SlotTarget: Sendable {
  /// A normalized passphrase.
  case passphrase(Secret, cost: ScryptCost)
  case key(KeyLine)
  case recipient([UInt8], isTest: Bool)
  case external(provider: String, blob: [UInt8], answer: Secret)
}
