internal import CofferRecords
internal import CofferSealing
internal import Synchronization

/// Root key source of an open store: used to unlock it, and again when another process has changed the key.
struct KeyHolder: Sendable {
  /// Asks for the key again; holds no secret.
  var key: StoreKey
  /// The slot that opened.
  var slot: UInt32
}

// A transaction that finds another root key in the file unlocks the store again before it runs any of its work.

extension StoreEngine {
  /// How many changes of the root key in a row one transaction follows.
  private static let followedChanges = 8

  /// - Throws: `cannotUnlock`, `pinMismatch`, `rolledBack`, errors of asking for the key; the store is then unchanged.
  func unlock(with key: StoreKey, expectingPin pin: String?) throws(StoreError) {
    try unlock(key, after: nil) { header, _ throws(StoreError) in
      if let pin { try StorePin(pin).check(header) }
    }
    try reading { transaction throws(StoreError) in
      if let pin {
        try StorePin(pin).check(transaction.keys.session, transaction.state, acceptsUnfinished: false)
      }
    }
  }

  /// Runs one transaction. If it finds another root key at its beginning, unlocks again and starts it over.
  ///
  /// - Parameter transaction: throws `keyChanged` only if it has done nothing yet.
  func followingKeyChanges<R>(_ transaction: () throws(StoreError) -> R) throws(StoreError) -> R {
    for _ in 0..<Self.followedChanges {
      // Not the keys themselves: closing waits for the transaction's end, and its keys must be gone then.
      let known = ObjectIdentifier(try session.keys)
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
  /// - Throws: `keyChanged` if that key opens no slot any more, or may not be used without a new call of `unlock`.
  private func unlockAgain(after known: ObjectIdentifier) throws(StoreError) {
    guard options.expectedPin == nil else {
      throw .keyChanged("and with it the pin that was expected")
    }
    do throws(StoreError) {
      try unlock(holder.withLock { $0.key }, after: known) { _, slots throws(StoreError) in
        // Anyone with a public key can make slots for it: such slots don't prove who changed the root key.
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

  /// Only one thread at a time asks for the key; the others then find the store unlocked.
  ///
  /// - Parameter known: the keys that failed; nil unlocks in any case.
  private func unlock(
    _ key: StoreKey, after known: ObjectIdentifier?,
    _ prepare: (StoreHeader, inout [KeySlotRecord]) throws(StoreError) -> Void
  ) throws(StoreError) {
    let result: Result<Void, StoreError> = unlocking.withLock { _ in
      Result { () throws(StoreError) in
        let current = try session.keys
        guard known == nil || known == ObjectIdentifier(current) else { return }
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
        // A former root key of this store is not trusted again; the state proves the rest.
        let isSame =
          header.rootGeneration == current.header.rootGeneration
          && unlocked.root.secret.isEqual(to: current.root.secret)
        guard isSame || header.rootGeneration > current.header.rootGeneration else {
          throw StoreError(
            .rolledBack, "the store was put back to an older root key",
            hint: "an older copy of the file was restored: close the store, and compare it with its anchor")
        }
        let new = try SessionKeys(root: unlocked.root, header: header, slots: slots)
        // Before any key is kept: keys of a file that is refused must not stay.
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
  /// Whether wrapping a root key for the slot takes the secret itself: true for passphrases and key files.
  var isMadeWithItsSecret: Bool { kind == 1 || kind == 2 }
}

extension StoreError {
  fileprivate static func keyChanged(_ why: String) -> StoreError {
    StoreError(
      .keyChanged, "another process changed the store's root key, \(why)",
      hint: "open it again with its new key, and compare its new pin")
  }
}
