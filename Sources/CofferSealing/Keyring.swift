/// The keys of all live epochs, sealed with the root key (FORMAT, "Keyring").
package struct Keyring: Sendable {
  /// The maximum number of epochs.
  package static let maximumEpochs = 64

  /// The epoch that writers use.
  package let active: UInt32
  /// The key that a store shares with its editable copies (FORMAT, "Keyring").
  package let family: Secret
  /// The epochs' keys, sorted by epoch.
  package let epochs: [EpochKeys]

  package init(active: UInt32, family: Secret, epochs: [EpochKeys]) {
    precondition(
      epochs.last?.epoch == active && zip(epochs, epochs.dropFirst()).allSatisfy { $0.epoch < $1.epoch },
      "internal error: a keyring's epochs rise, and the active one is the last")
    precondition(family.count == Self.familyByteCount, "internal error: a family key has 32 bytes")
    self.active = active
    self.family = family
    self.epochs = epochs
  }

  package func keys(of epoch: UInt32) -> EpochKeys? {
    epochs.first { $0.epoch == epoch }
  }

  /// The highest ceiling of the closed epochs, or 0 if there aren't any. Rows below it can't be inserted.
  package var highestCeiling: UInt64 {
    epochs.map(\.bounds.ceiling).max() ?? 0
  }

  // MARK: The sealed form

  package static let familyByteCount = 32
  private static let firstByteCount = 4 + familyByteCount
  private static let entryByteCount = 4 + RootKey.byteCount + 3 * 8
  /// The highest generation, revision and counter of a dot.
  package static let maximumGeneration: UInt64 = 1 << 48 - 1

  /// Returns the sealed keyring's length.
  package static func byteCount(ofEpochs count: Int) -> Int {
    XAESKey.overhead + firstByteCount + count * entryByteCount
  }

  /// - Throws: `malformed` for more than ``maximumEpochs``, which readers would reject.
  package func seal(under root: RootKey, phase: UInt64) throws(SealingError) -> [UInt8] {
    guard epochs.count <= Self.maximumEpochs else {
      throw SealingError(.malformed, "the keyring holds \(Self.maximumEpochs) epochs already")
    }
    let byteCount = Self.firstByteCount + epochs.count * Self.entryByteCount
    let plaintext = Secret(byteCount: byteCount) { memory in
      memory.storeBytes(of: active.bigEndian, as: UInt32.self)
      family.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: memory[4...]).copyMemory(from: $0) }
      for (index, keys) in epochs.enumerated() {
        let offset = Self.firstByteCount + index * Self.entryByteCount
        memory.storeBytes(of: keys.epoch.bigEndian, toByteOffset: offset, as: UInt32.self)
        keys.root.withUnsafeBytes {
          UnsafeMutableRawBufferPointer(rebasing: memory[(offset + 4)...]).copyMemory(from: $0)
        }
        let numbers = [keys.bounds.closed, keys.bounds.ceiling, keys.bounds.floor]
        for (place, number) in numbers.enumerated() {
          memory.storeBytes(
            of: number.bigEndian, toByteOffset: offset + 4 + RootKey.byteCount + 8 * place, as: UInt64.self)
        }
      }
      return byteCount
    }
    let key = try XAESKey(root.derive(.keyring))
    return try key.seal(plaintext, authenticating: Self.binding(root: root, phase: phase))
  }

  /// - Throws: `notAuthentic`, or `malformed` if epochs aren't in ascending order up to the active epoch, or have
  ///   bounds that writers don't produce.
  package static func open(_ sealed: [UInt8], under root: RootKey, phase: UInt64) throws(SealingError) -> Keyring {
    let key = try XAESKey(root.derive(.keyring))
    let plaintext = try key.openSecret(sealed, authenticating: binding(root: root, phase: phase))
    let count = (plaintext.count - firstByteCount) / entryByteCount
    guard (1...maximumEpochs).contains(count), plaintext.count == firstByteCount + count * entryByteCount else {
      throw SealingError(.malformed, "the keyring has another length")
    }
    func number(_ offset: Int) -> UInt32 {
      plaintext.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    }
    func counter(_ offset: Int) -> UInt64 {
      plaintext.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
    }
    let active = number(0)
    var epochs: [EpochKeys] = []
    for index in 0..<count {
      let offset = firstByteCount + index * entryByteCount
      let epoch = number(offset)
      let end = offset + 4 + RootKey.byteCount
      let bounds = EpochBounds(closed: counter(end), ceiling: counter(end + 8), floor: counter(end + 16))
      guard epoch > epochs.last?.epoch ?? 0, epoch <= UInt32(Int32.max) else {
        throw SealingError(.malformed, "the keyring's epochs are out of order")
      }
      guard bounds.isValid(isActive: epoch == active) else {
        throw SealingError(.malformed, "an epoch of the keyring has invalid bounds")
      }
      epochs.append(
        try EpochKeys(epoch: epoch, root: plaintext.slice(offset + 4..<end), storeID: root.storeID, bounds: bounds))
    }
    guard epochs.last?.epoch == active else {
      throw SealingError(.malformed, "the keyring's active epoch is not its last")
    }
    return Keyring(active: active, family: plaintext.slice(4..<firstByteCount), epochs: epochs)
  }

  private static func binding(root: RootKey, phase: UInt64) -> [UInt8] {
    PreAuthenticationEncoding("coffer3/keyring").adding(root.storeID).adding(root.generation).adding(phase).bytes
  }
}

extension EpochBounds {
  fileprivate func isValid(isActive: Bool) -> Bool {
    let ids: ClosedRange<UInt64> = 1...UInt64(Int64.max)
    guard ids.contains(floor) else { return false }
    if isActive { return closed == 0 && ceiling == 0 && floor == 1 }
    return (1...Keyring.maximumGeneration).contains(closed) && ids.contains(ceiling)
  }
}

extension XAESKey {
  /// Opens a blob directly into locked memory.
  package func openSecret(_ blob: [UInt8], authenticating additional: [UInt8]) throws(SealingError) -> Secret {
    let count = max(0, blob.count - Self.overhead)
    return try Secret(byteCount: count) { memory throws(SealingError) in
      let plaintext = UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
      try blob.withBytes { blob throws(SealingError) in
        try additional.withBytes { additional throws(SealingError) in
          try open(blob, authenticating: additional, plaintext: plaintext)
        }
      }
      return count
    }
  }
}
