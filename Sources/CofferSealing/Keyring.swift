/// Every live epoch's keys, sealed under the root key (FORMAT, "Keyring").
package struct Keyring: Sendable {
  /// At most so many epochs.
  package static let maximumEpochs = 64

  /// The epoch that writers use.
  package let active: UInt32
  /// By rising epoch.
  package let epochs: [EpochKeys]

  package init(active: UInt32, epochs: [EpochKeys]) {
    precondition(
      epochs.contains { $0.epoch == active } && zip(epochs, epochs.dropFirst()).allSatisfy { $0.epoch < $1.epoch },
      "internal error: a keyring's epochs rise, and the active one is among them")
    self.active = active
    self.epochs = epochs
  }

  package func keys(of epoch: UInt32) -> EpochKeys? {
    epochs.first { $0.epoch == epoch }
  }

  /// - Throws: `malformed` for more than ``maximumEpochs``, which no reader would take.
  package func seal(under root: RootKey, generation: UInt64, nonces: RandomBytes) throws(SealingError) -> [UInt8] {
    guard epochs.count <= Self.maximumEpochs else {
      throw SealingError(.malformed, "the keyring holds \(Self.maximumEpochs) epochs already")
    }
    let byteCount = 4 + epochs.count * (4 + RootKey.byteCount)
    let plaintext = Secret(byteCount: byteCount) { memory in
      memory.storeBytes(of: active.bigEndian, as: UInt32.self)
      for (index, keys) in epochs.enumerated() {
        let offset = 4 + index * (4 + RootKey.byteCount)
        memory.storeBytes(of: keys.epoch.bigEndian, toByteOffset: offset, as: UInt32.self)
        keys.root.withUnsafeBytes {
          UnsafeMutableRawBufferPointer(rebasing: memory[(offset + 4)...]).copyMemory(from: $0)
        }
      }
      return byteCount
    }
    let key = try XAESKey(root.derive(.keyring))
    return try key.seal(
      plaintext, authenticating: Self.binding(root: root, generation: generation), nonces: nonces)
  }

  /// - Throws: `notAuthentic`, or `malformed` for epochs that don't rise, repeat, or lack the active one.
  package static func open(_ sealed: [UInt8], under root: RootKey, generation: UInt64) throws(SealingError) -> Keyring {
    let key = try XAESKey(root.derive(.keyring))
    let plaintext = try key.openSecret(sealed, authenticating: binding(root: root, generation: generation))
    let entry = 4 + RootKey.byteCount
    guard plaintext.count >= 4 + entry, (plaintext.count - 4) % entry == 0,
      (plaintext.count - 4) / entry <= maximumEpochs
    else { throw SealingError(.malformed, "the keyring has another length") }
    let numbers = plaintext.withUnsafeBytes { bytes in
      ([0] + stride(from: 4, to: bytes.count, by: entry)).map {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self))
      }
    }
    guard zip(numbers.dropFirst(), numbers.dropFirst(2)).allSatisfy(<), numbers[1] >= 1,
      numbers.dropFirst().contains(numbers[0]), numbers.allSatisfy({ $0 <= UInt32(Int32.max) })
    else { throw SealingError(.malformed, "the keyring's epochs are out of order") }
    var epochs: [EpochKeys] = []
    for (index, epoch) in numbers.dropFirst().enumerated() {
      let start = 4 + index * entry + 4
      epochs.append(
        try EpochKeys(
          epoch: epoch, root: plaintext.slice(start..<start + RootKey.byteCount), storeID: root.storeID))
    }
    return Keyring(active: numbers[0], epochs: epochs)
  }

  private static func binding(root: RootKey, generation: UInt64) -> [UInt8] {
    PreAuthenticationEncoding("coffer1/keyring").adding(root.storeID).adding(generation).bytes
  }
}

extension XAESKey {
  /// Seals a secret into one blob under a fresh nonce.
  package func seal(_ secret: Secret, authenticating additional: [UInt8], nonces: RandomBytes) throws(SealingError)
    -> [UInt8]
  {
    var blob = [UInt8](repeating: 0, count: secret.count + Self.overhead)
    try blob.withMutableBytes { blob throws(SealingError) in
      try secret.withUnsafeBytes { secret throws(SealingError) in
        try additional.withBytes { additional throws(SealingError) in
          try seal(secret, authenticating: additional, nonces: nonces, into: blob)
        }
      }
    }
    return blob
  }

  /// Opens one blob straight into locked memory.
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
