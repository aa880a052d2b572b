internal import CofferRecords
internal import CofferSealing

/// The search for a slot that opens (FORMAT, "Opening" and "Slots").
struct Unlocking {
  let header: StoreHeader
  let slots: [KeySlotRecord]
  /// Try this slot only.
  var named: UInt32?
  /// Whether a test key or TEST store may be opened at all.
  var allowsTestKeys: Bool

  struct Unlocked {
    let root: RootKey
    let slot: UInt32
  }

  /// Refuses excessive costs before it asks for any secret.
  func checkBounds() throws(StoreError) {
    if header.isTest && !allowsTestKeys {
      throw StoreError(
        .testKeyRefused, "this is a TEST store: its keys are published, so anyone can read it",
        hint: "allow it only in tests (\(.allowTestKeys))")
    }
    for slot in slots {
      _ = try slot.checkedParameters(isTest: header.isTest, isRaised: named == slot.slot)
    }
    if let named, !slots.contains(where: { $0.slot == named }) {
      throw StoreError(.invalidArgument, "there is no slot \(named)")
    }
  }

  /// The same for a passphrase alone, which would be tried on every passphrase slot; other keys cost nothing there.
  private func checkWork() throws(StoreError) {
    guard named == nil else { return }
    var work: UInt64 = 0
    for slot in slots {
      guard case .passphrase(let cost, _)? = try slot.checkedParameters(isTest: header.isTest) else { continue }
      work += cost.work
    }
    guard work <= ScryptCost.maximumTotalWork else {
      throw StoreError(
        .parametersRefused, "scrypt logN and p of all slots together ask for more work than allowed",
        hint: "name the slot to open")
    }
  }

  /// Tries the ways in turn, each on every slot of its kind.
  ///
  /// - Throws: `cannotUnlock` when none opens; `testKeyRefused` for a test key without the TEST bit.
  func unlock(with key: StoreKey) throws(StoreError) -> Unlocked {
    for way in key.ways {
      if let found = try unlock(way) { return found }
    }
    throw StoreError(.cannotUnlock, "no slot opens with this key", hint: "\(.info) lists the slots")
  }

  private func unlock(_ way: SecretWay) throws(StoreError) -> Unlocked? {
    switch way {
    case .keyFile(let path): return try unlock(secret: .line(try KeyLine.loading(path, as: .key)))
    case .identity(let path): return try unlock(secret: .line(try KeyLine.loading(path, as: .identity)))
    case .passphrase(let ask):
      try checkWork()
      return try unlock(passphrase: try asking(ask))
    case .material(let read):
      let secret = try asking(read)
      guard secret.looksLikeKeyFile else {
        try checkWork()
        return try unlock(passphrase: Passphrase.droppingLineEnd(secret))
      }
      return try unlock(secret: .line(try KeyLine.reading(secret)))
    case .provider(let name, let answer):
      return try unlock(provider: name, answer)
    }
  }

  private func unlock(passphrase typed: Secret) throws(StoreError) -> Unlocked? {
    let passphrase: Secret
    do throws(SealingError) {
      passphrase = try Passphrase.normalized(typed)
    } catch {
      // A passphrase that no slot can have been made with opens none.
      return nil
    }
    return try unlock(secret: .passphrase(passphrase))
  }

  private func unlock(secret: SlotSecret) throws(StoreError) -> Unlocked? {
    if case .line(let line) = secret {
      if line.isTest && !(header.isTest && allowsTestKeys) {
        throw StoreError(
          .testKeyRefused, "this is a published test key: it opens TEST stores only, and only where that is allowed",
          hint: "use a key of your own")
      }
      if line.isTest != header.isTest { return nil }
    }
    for slot in candidates {
      guard let parameters = try slot.checkedParameters(isTest: header.isTest, isRaised: named == slot.slot) else {
        continue
      }
      let root: RootKey?
      do throws(SealingError) {
        guard
          let key = try slot.derivedKey(with: secret, parameters: parameters, storeID: header.storeID)
        else { continue }
        root = try slot.unwrap(with: key, storeID: header.storeID, generation: header.rootGeneration)
      } catch {
        // A foreign public key of small order opens nothing.
        guard error.code == .notAuthentic else { throw StoreError(error) }
        continue
      }
      if let root, try isCommitted(root) { return Unlocked(root: root, slot: slot.slot) }
    }
    return nil
  }

  private func unlock(provider name: String, _ answer: @Sendable ([UInt8]) throws -> Secret) throws(StoreError)
    -> Unlocked?
  {
    for slot in candidates {
      guard case .external(_, name, let blob)? = try slot.checkedParameters(isTest: header.isTest) else { continue }
      let secret = try asking { try answer(blob) }
      let alone = Unlocking(header: header, slots: [slot], named: slot.slot, allowsTestKeys: allowsTestKeys)
      if let found = try alone.unlock(secret: .answer(secret, provider: name)) { return found }
    }
    return nil
  }

  private var candidates: [KeySlotRecord] {
    named.map { named in slots.filter { $0.slot == named } } ?? slots
  }

  private func isCommitted(_ root: RootKey) throws(StoreError) -> Bool {
    let commitment = try sealing { () throws(SealingError) in try root.commitment(phase: header.phase) }
    return ConstantTime.equal(commitment, header.commitment)
  }
}
