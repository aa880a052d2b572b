internal import CofferRecords
internal import CofferSealing
internal import Synchronization

/// The source of an open store's root key, used to unlock the store and to follow root key changes.
package struct KeyHolder: Sendable {
  /// The key to ask for. It doesn't contain a secret.
  package var key: StoreKey
  /// The slot that the key opened.
  package var slot: UInt32

  package init(key: StoreKey, slot: UInt32) {
    self.key = key
    self.slot = slot
  }
}

// A transaction that finds a different root key in the file unlocks the store before doing any work.

extension StoreEngine {
  /// Unlocks the store with another key. An error leaves the file unchanged.
  ///
  /// - Throws: `cannotUnlock`, `pinMismatch`, `rolledBack`, or errors from asking for the key.
  package func unlock(with key: StoreKey, expecting pin: StorePin?) throws(StoreError) {
    try unlock(key, after: nil) { header, _ throws(StoreError) in
      try pin?.check(header)
    }
    try reading { transaction throws(StoreError) in
      try pin?.check(transaction.keys.session, transaction.state, acceptsUnfinished: false)
    }
  }

  /// Unlocks the store with its current key, after the root key has changed.
  ///
  /// - Throws: `keyChanged` if the key no longer opens a slot, or requires a new call to `unlock`.
  func unlockAfterKeyChange(after known: ObjectIdentifier) throws(StoreError) {
    guard options.pin == nil else {
      throw .keyChanged("and with it the pin that was expected")
    }
    do throws(StoreError) {
      try unlock(holder.withLock { $0.key }, after: known) { _, slots throws(StoreError) in
        // Anyone with a public key can create slots for it, so such slots don't prove who changed the root key.
        slots.removeAll { !$0.requiresSecretToWrap }
      }
    } catch {
      switch error.code {
      case .cannotUnlock, .keyNeeded, .keyFileInvalid, .invalidArgument:
        throw .keyChanged("and the key at hand can't open it by itself any more")
      default: throw error
      }
    }
  }

  /// Asks for the key on one thread at a time. Waiting threads then find the store unlocked.
  ///
  /// - Parameter known: The keys that failed, or `nil` to always unlock.
  private func unlock(
    _ key: StoreKey, after known: ObjectIdentifier?,
    _ prepare: (StoreHeader, inout [KeySlotRecord]) throws(StoreError) -> Void
  ) throws(StoreError) {
    let mark = session.pauseMark
    let result: Result<Void, StoreError> = unlocking.withLock { _ in
      Result { () throws(StoreError) in
        let current = try session.keys
        guard known == nil || known == ObjectIdentifier(current) else { return }
        let (header, slots) = try readHeader()
        var usable = slots
        try prepare(header, &usable)
        let unlocking = Unlocking(
          header: header, slots: usable, named: options.slot.map { UInt32(clamping: $0) },
          allowsTestKeys: options.allowsTestKeys)
        try unlocking.checkBounds()
        let unlocked = try unlocking.unlock(with: key)
        // Reject former root keys of this store. The state verifies the rest.
        let isSame =
          header.rootGeneration == current.header.rootGeneration
          && unlocked.root.secret.isEqual(to: current.root.secret)
        guard isSame || header.rootGeneration > current.header.rootGeneration else {
          throw .putBack(to: "an older root key")
        }
        let new = try SessionKeys(root: unlocked.root, header: header, slots: slots)
        // Verify the keys before keeping them, because a rejected file's keys must not remain.
        try verify(new)
        session.replaceKeys(current, with: new)
        holder.withLock { $0 = KeyHolder(key: key, slot: unlocked.slot) }
        log.info("unlocked again after a change of the root key")
      }
    }
    do throws(StoreError) {
      try result.get()
    } catch {
      throw session.errorOfStopped(error, since: mark)
    }
  }
}

extension StoreEngine {
  private func readHeader() throws(StoreError) -> (StoreHeader, [KeySlotRecord]) {
    let lease = try connections.reader()
    return try lease.connection.file.readConsistently()
  }

  private func verify(_ keys: SessionKeys) throws(StoreError) {
    let lease = try connections.reader()
    try lease.connection.prove(keys, since: session.snapshot)
  }
}

extension KeySlotRecord {
  /// Whether wrapping a root key for the slot requires the secret, as for passphrases and key files.
  var requiresSecretToWrap: Bool { kind == 1 || kind == 2 }
}

extension StoreError {
  fileprivate static func keyChanged(_ why: String) -> StoreError {
    StoreError(
      .keyChanged, "another process changed the store's root key, \(why)",
      hint: "open it again with its new key, and compare its new pin")
  }
}
