/// The store's root key: what every slot wraps, and what the header, the keyring and the state are sealed with.
package struct RootKey: Sendable {
  package static let byteCount = 32

  package let secret: Secret
  package let storeID: [UInt8]

  package init(secret: Secret, storeID: [UInt8]) {
    precondition(secret.count == Self.byteCount, "internal error: a root key has 32 bytes")
    self.secret = secret
    self.storeID = storeID
  }

  package static func random(storeID: [UInt8]) throws(SealingError) -> RootKey {
    RootKey(secret: try .random(byteCount: byteCount), storeID: storeID)
  }

  /// HKDF labels under the root key (FORMAT, "Keys").
  package enum Label: String {
    case commit = "coffer1/commit"
    case keyring = "coffer1/keyring"
    case headerMAC = "coffer1/header-mac"
    case state = "coffer1/state"
    case anchor = "coffer1/anchor"
  }

  package func derive(_ label: Label) throws(SealingError) -> Secret {
    try hkdf(secret, salt: storeID, info: Array(label.rawValue.utf8))
  }

  /// `rk_commit`: says that a slot gave this root key and no other. Not secret.
  package func commitment() throws(SealingError) -> [UInt8] {
    try derive(.commit).withUnsafeBytes { Array($0) }
  }
}

/// The keys of one epoch: rows written under it are sealed with these.
package struct EpochKeys: Sendable {
  package let epoch: UInt32
  /// The bytes stored in the keyring.
  let root: Secret
  package let body: Secret
  package let head: Secret
  package let name: Secret
  package let lookup: Secret
  package let set: Secret

  package init(epoch: UInt32, root: Secret, storeID: [UInt8]) throws(SealingError) {
    func derive(_ label: StaticString) throws(SealingError) -> Secret {
      var info = ByteBuilder()
      info.append(label: label)
      info.append(epoch)
      return try hkdf(root, salt: storeID, info: info.bytes)
    }
    self.epoch = epoch
    self.root = root
    body = try derive("coffer1/body")
    head = try derive("coffer1/head")
    name = try derive("coffer1/name")
    lookup = try derive("coffer1/lookup")
    set = try derive("coffer1/set")
  }

  package static func random(epoch: UInt32, storeID: [UInt8]) throws(SealingError) -> EpochKeys {
    try EpochKeys(epoch: epoch, root: .random(byteCount: RootKey.byteCount), storeID: storeID)
  }
}
