internal import CofferRecords
internal import CofferSealing

/// The search for a slot that the key opens (FORMAT, "Opening" and "Slots").
package struct Unlocking {
  let header: StoreHeader
  let slots: [KeySlotRecord]
  /// The only slot to try, or `nil` to try all slots.
  var named: UInt32?
  /// Whether test keys and TEST stores are allowed.
  var allowsTestKeys: Bool

  package init(header: StoreHeader, slots: [KeySlotRecord], named: UInt32? = nil, allowsTestKeys: Bool) {
    self.header = header
    self.slots = slots
    self.named = named
    self.allowsTestKeys = allowsTestKeys
  }

  package struct Unlocked {
    package let root: RootKey
    let slot: UInt32
  }

  /// Verifies whether a TEST store is allowed, and that a slot can be tried, before asking for a secret.
  ///
  /// A slot out of its bounds is never tried, and doesn't keep other slots from opening the store.
  package func checkBounds() throws(StoreError) {
    if header.isTest && !allowsTestKeys {
      throw StoreError(
        .testKeyRefused, "this is a TEST store: its keys are published, so anyone can read it",
        hint: "allow it only in tests (\(.allowTestKeys))")
    }
    let candidates = candidates
    if let named, candidates.isEmpty {
      throw StoreError(.invalidArgument, "there is no slot \(named)")
    }
    if let refusal = try refusal(of: candidates) { throw refusal }
  }

  /// Verifies the total scrypt work for a passphrase, which would be tried on each passphrase slot.
  private func checkWork() throws(StoreError) {
    guard named == nil else { return }
    var work: UInt64 = 0
    for slot in slots {
      guard case .passphrase(let cost, _)? = parameters(of: slot) else { continue }
      work += cost.work
    }
    guard work <= ScryptCost.maximumTotalWork else {
      throw StoreError(
        .parametersRefused, "scrypt logN and p of all slots together ask for more work than allowed",
        hint: "name the slot to open")
    }
  }

  /// Tries each way in order, on all slots of the matching kind.
  ///
  /// - Throws: `cannotUnlock` if the key doesn't open a slot, `parametersRefused` if each slot of its kind is out of its
  ///   bounds, or `testKeyRefused` for a test key without the TEST bit.
  package func unlock(with key: StoreKey) throws(StoreError) -> Unlocked {
    for way in key.ways where try refusal(of: slots(for: way)) == nil {
      if let found = try unlock(way) { return found }
    }
    let tried = candidates.filter { slot in key.ways.contains { $0.slotKinds.contains(slot.kind) } }
    if let refusal = try refusal(of: tried) { throw refusal }
    let unusable = try tried.unusable(isTest: header.isTest)
    throw StoreError(
      .cannotUnlock, "no slot opens with this key",
      hint: unusable.isEmpty ? "\(.info) lists the slots" : "\(unusable.faults); \(try cure())")
  }

  // MARK: Slots out of their bounds

  /// Returns the error if all slots are out of bounds, or `nil` if a slot can be tried or there are no slots.
  private func refusal(of slots: [KeySlotRecord]) throws(StoreError) -> StoreError? {
    var first: StoreError?
    for slot in slots {
      do throws(StoreError) {
        _ = try slot.checkedParameters(isTest: header.isTest, isRaised: named == slot.slot)
        return nil
      } catch {
        first = first ?? error
      }
    }
    let unusable = try slots.unusable(isTest: header.isTest)
    guard let first, !unusable.isEmpty else { return first }
    return StoreError(first.code, unusable.faults, hint: try cure())
  }

  /// Returns what to do about slots that nobody can open.
  private func cure() throws(StoreError) -> ErrorHint {
    try slots.unusable(isTest: header.isTest).count == slots.count
      ? "restore the store from a backup"
      : "open the store with the key of another slot, and drop the damaged one with \(.dropSlots)"
  }

  /// Returns the parameters of a slot that can be tried.
  private func parameters(of slot: KeySlotRecord) -> SlotParameters? {
    slot.usableParameters(isTest: header.isTest, isRaised: named == slot.slot)
  }

  private func slots(for way: SecretSource) -> [KeySlotRecord] {
    candidates.filter { way.slotKinds.contains($0.kind) }
  }

  // MARK: Ways

  private func unlock(_ way: SecretSource) throws(StoreError) -> Unlocked? {
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
    case .provider(let name, _, let answer):
      return try unlock(provider: name, answer)
    }
  }

  private func unlock(passphrase typed: Secret) throws(StoreError) -> Unlocked? {
    let passphrase: Secret
    do throws(SealingError) {
      passphrase = try Passphrase.normalized(typed)
    } catch {
      // An invalid passphrase can't open a slot, because slots are only created with valid passphrases.
      guard error.code == .invalidPassphrase else { throw StoreError(error) }
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
      guard let parameters = parameters(of: slot) else { continue }
      let root: RootKey?
      do throws(SealingError) {
        guard
          let key = try slot.derivedKey(with: secret, parameters: parameters, storeID: header.storeID)
        else { continue }
        root = try slot.unwrap(with: key, storeID: header.storeID, generation: header.rootGeneration)
      } catch {
        // A foreign public key of small order can't open the slot.
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
      guard case .external(_, name, let blob)? = parameters(of: slot) else { continue }
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
    let commitment = try translatingErrors { () throws(SealingError) in try root.commitment(phase: header.phase) }
    return ConstantTime.equal(commitment, header.commitment)
  }
}
