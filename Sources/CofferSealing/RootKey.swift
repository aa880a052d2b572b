/// A store's root key, which is wrapped in every slot, and seals the header, the keyring and the state.
package struct RootKey: Sendable {
  package static let byteCount = 32

  package let secret: Secret
  package let storeID: [UInt8]
  /// The root key's `rk_generation`. Each of a store's new root keys has the next number.
  package let generation: UInt64

  package init(secret: Secret, storeID: [UInt8], generation: UInt64) {
    precondition(secret.count == Self.byteCount, "internal error: a root key has 32 bytes")
    self.secret = secret
    self.storeID = storeID
    self.generation = generation
  }

  package static func random(storeID: [UInt8], generation: UInt64) throws(SealingError) -> RootKey {
    RootKey(secret: try .random(byteCount: byteCount), storeID: storeID, generation: generation)
  }

  /// HKDF labels under the root key (FORMAT, "Keys").
  package enum Label: String {
    case keyring = "coffer3/keyring"
    case headerMAC = "coffer3/header-mac"
    case state = "coffer3/state"
    case anchor = "coffer3/anchor"
    case replicas = "coffer3/replicas"
    case release = "coffer3/release"
  }

  package func derive(_ label: Label) throws(SealingError) -> Secret {
    try hkdf(secret, salt: storeID, info: Array(label.rawValue.utf8))
  }

  /// Returns a phase's `rk_commit`, which proves that a slot contains this root key and no other. Not secret.
  package func commitment(phase: UInt64) throws(SealingError) -> [UInt8] {
    var info = ByteBuilder()
    info.append(label: "coffer3/commit")
    info.append(generation)
    info.append(phase)
    return try hkdf(secret, salt: storeID, info: info.bytes).withUnsafeBytes { Array($0) }
  }
}

/// The bounds of an epoch's rows (FORMAT, "Closed epochs").
package struct EpochBounds: Hashable, Sendable {
  /// The generation of the transaction that activated a later epoch, or 0 for the active epoch.
  package var closed: UInt64
  /// The state's `bound` before that transaction, or 0 for the active epoch.
  package var ceiling: UInt64
  /// The lowest ID that a row in the epoch can have.
  package var floor: UInt64

  package init(closed: UInt64, ceiling: UInt64, floor: UInt64) {
    self.closed = closed
    self.ceiling = ceiling
    self.floor = floor
  }

  package static let active = EpochBounds(closed: 0, ceiling: 0, floor: 1)
}

/// An epoch's keys, which seal the rows written in the epoch.
package struct EpochKeys: Sendable {
  package let epoch: UInt32
  package var bounds: EpochBounds
  /// The bytes stored in the keyring.
  let root: Secret
  package let body: Secret
  package let head: Secret
  package let name: Secret
  package let lookup: Secret
  package let set: Secret
  package let index: Secret

  package init(epoch: UInt32, root: Secret, storeID: [UInt8], bounds: EpochBounds = .active) throws(SealingError) {
    func derive(_ label: StaticString) throws(SealingError) -> Secret {
      var info = ByteBuilder()
      info.append(label: label)
      info.append(epoch)
      return try hkdf(root, salt: storeID, info: info.bytes)
    }
    self.epoch = epoch
    self.root = root
    self.bounds = bounds
    body = try derive("coffer3/body")
    head = try derive("coffer3/head")
    name = try derive("coffer3/name")
    lookup = try derive("coffer3/lookup")
    set = try derive("coffer3/set")
    index = try derive("coffer3/index")
  }

  package static func random(epoch: UInt32, storeID: [UInt8]) throws(SealingError) -> EpochKeys {
    try EpochKeys(epoch: epoch, root: .random(byteCount: RootKey.byteCount), storeID: storeID)
  }
}
