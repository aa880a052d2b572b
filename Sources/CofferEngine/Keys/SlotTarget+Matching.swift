internal import CofferRecords
internal import CofferSealing

// Finds existing slots for a key, to detect duplicates.

extension KeySlotRecord {
  /// Returns whether the secret opens this slot. A passphrase costs one scrypt operation.
  func opens(
    with secret: SlotSecret, _ parameters: SlotParameters, storeID: [UInt8], generation: UInt64
  ) throws(StoreError) -> Bool {
    do throws(SealingError) {
      guard let key = try derivedKey(with: secret, parameters: parameters, storeID: storeID) else { return false }
      return try unwrap(with: key, storeID: storeID, generation: generation) != nil
    } catch {
      // A foreign public key of small order can't open the slot.
      guard error.code == .notAuthentic else { throw StoreError(error) }
      return false
    }
  }
}

extension SlotTarget {
  /// Returns the first slot that has this key or recipient. Providers aren't called, so their slots never match.
  ///
  /// A passphrase costs one scrypt operation for each passphrase slot.
  package func firstMatch(in slots: [KeySlotRecord], of header: StoreHeader) throws(StoreError) -> KeySlotRecord? {
    for slot in slots {
      guard let parameters = slot.usableParameters(isTest: header.isTest, isRaised: true) else { continue }
      let secret: SlotSecret
      switch (self, parameters) {
      case (.recipient(let mine, _), .recipient(_, let theirs)):
        // If nobody can open the slot, its recipient gets another slot.
        let fault = try translatingErrors { () throws(SealingError) in try slot.fault(isTest: header.isTest) }
        if mine == theirs, fault == nil { return slot }
        continue
      case (.passphrase(let passphrase, _), .passphrase): secret = .passphrase(passphrase)
      case (.key(let line), .keyFile): secret = .line(line)
      default: continue
      }
      let opens = try slot.opens(
        with: secret, parameters, storeID: header.storeID, generation: header.rootGeneration)
      if opens { return slot }
    }
    return nil
  }

  /// Returns whether both targets have the same secret or recipient, or `false` for providers.
  func isForSameKey(as other: SlotTarget) -> Bool {
    switch (self, other) {
    case (.passphrase(let mine, _), .passphrase(let theirs, _)): mine.isEqual(to: theirs)
    case (.key(let mine), .key(let theirs)): mine.secret.isEqual(to: theirs.secret)
    case (.recipient(let mine, _), .recipient(let theirs, _)): mine == theirs
    default: false
    }
  }

  /// - Throws: `invalidArgument` if two new slots have the same key.
  static func requireDistinct(_ targets: [SlotTarget]) throws(StoreError) {
    for (index, target) in targets.enumerated() where targets[..<index].contains(where: target.isForSameKey) {
      throw StoreError(.invalidArgument, "the same key was given for two new slots")
    }
  }
}

extension StoreError {
  package static func keyHasSlot(_ slot: UInt32) -> StoreError {
    StoreError(
      .alreadyExists, "slot \(slot) has this key already; nothing was changed", hint: "\(.listKeys) shows the slots")
  }
}
