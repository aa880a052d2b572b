internal import CofferRecords
internal import CofferSealing
internal import Synchronization

/// Root key source of an open store, for the first unlocking and for the next when another process has changed the key.
struct KeyHolder: Sendable {
  /// Asks for the key again; no secret.
  var key: StoreKey
  /// The slot that opened.
  var slot: UInt32
}

// A transaction that finds another root key in the file unlocks the store again before anything of it has run.

extension StoreEngine {
  /// How often one transaction follows others that change the root key again and again.
  private static let followedChanges = 8

  /// - Throws: `cannotUnlock`, `pinMismatch`, `rolledBack`, what asking for the key throws; the store is then as it was.
  func unlock(with key: StoreKey, expectingPin pin: String?) throws(StoreError) {
    try unlock(key, after: nil) { header, _ throws(StoreError) in
      if let pin { try header.requirePin(pin) }
    }
    try reading { _ throws(StoreError) in }
  }

  /// Runs one transaction; where its beginning finds another root key, unlocks again and begins anew.
  ///
  /// - Parameter transaction: throws `keyChanged` only where it has done nothing yet.
  func followingKeyChanges<R>(_ transaction: () throws(StoreError) -> R) throws(StoreError) -> R {
    for _ in 0..<Self.followedChanges {
      let known = try session.keys
      do throws(StoreError) {
        return try transaction()
      } catch {
        guard error.code == .keyChanged else { throw error }
        try unlockAgain(after: known)
      }
    }
    return try transaction()
  }

  /// Asks for the store's own key again.
  ///
  /// - Throws: `keyChanged` where that key opens nothing any more, or may not be used unasked.
  private func unlockAgain(after known: SessionKeys) throws(StoreError) {
    guard options.expectedPin == nil else {
      throw .keyChanged("and with it the pin that was expected")
    }
    do throws(StoreError) {
      try unlock(holder.withLock { $0.key }, after: known) { _, slots throws(StoreError) in
        // Whoever has a public key can make slots for it: those prove nothing of who changed the root key.
        slots.removeAll { !$0.isMadeWithItsSecret }
      }
    } catch {
      switch error.code {
      case .cannotUnlock, .keyNeeded, .keyFileInvalid, .invalidArgument:
        throw .keyChanged("and the key at hand can't open it by itself any more")
      default: throw error
      }
    }
  }

  /// One thread at a time asks for the key; the others find the store unlocked when it is their turn.
  ///
  /// - Parameter known: the keys that failed; nil unlocks in any case.
  private func unlock(
    _ key: StoreKey, after known: SessionKeys?,
    _ prepare: (StoreHeader, inout [KeySlotRecord]) throws(StoreError) -> Void
  ) throws(StoreError) {
    let result: Result<Void, StoreError> = unlocking.withLock { _ in
      Result { () throws(StoreError) in
        let current = try session.keys
        guard known == nil || known === current else { return }
        let (header, slots) = try connections.withReader { connection throws(StoreError) in
          try connection.file.readConsistently()
        }
        var usable = slots
        try prepare(header, &usable)
        let unlocking = Unlocking(
          header: header, slots: usable, named: options.slot.map { UInt32(clamping: $0) },
          allowsTestKeys: options.allowsTestKeys)
        try unlocking.checkBounds()
        let unlocked = try unlocking.unlock(with: key)
        // A root key that was this store's before is not believed again; the state proves the rest.
        let isSame = header.commitment == current.header.commitment
        guard isSame || header.rootGeneration > current.header.rootGeneration else {
          throw StoreError(
            .rolledBack, "the store was put back to an older root key",
            hint: "somebody restored an older file: close the store, and compare it with its anchor")
        }
        let new = try SessionKeys(root: unlocked.root, header: header, slots: slots)
        // Before anything is kept: keys of a file that is refused must not stay.
        try connections.withReader { connection throws(StoreError) in try connection.prove(new, since: session.snapshot)
        }
        session.replaceKeys(current, with: new)
        holder.withLock { $0 = KeyHolder(key: key, slot: unlocked.slot) }
        log.info("unlocked again after a change of the root key")
      }
    }
    try result.get()
  }
}

extension KeySlotRecord {
  /// Whether wrapping a root key for it takes the secret itself: passphrases and key files.
  fileprivate var isMadeWithItsSecret: Bool { kind == 1 || kind == 2 }
}

extension StoreError {
  fileprivate static func keyChanged(_ why: String) -> StoreError {
    StoreError(
      .keyChanged, "another process changed the store's root key, \(why)",
      hint: "open it again with its new key, and compare its new pin")
  }
}
