internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

/// The first transaction of a rekey: a new root key for every slot, a new epoch for every later write.
///
/// Secrets are asked for and derived before the write lock is taken; if slots changed meanwhile, the rekey stops.
struct KeyChange {
  let store: StoreEngine
  let options: RekeyOptions
  let replacements: [NewKey]

  /// The planned change of a slot.
  private struct Plan {
    let slot: UInt32
    let label: String
    let target: SlotTarget
  }

  func run() throws(StoreError) {
    let opened = store.holder.withLock { $0.slot }
    let (before, slots) = try store.reading { transaction throws(StoreError) in
      let proved = try transaction.proveHeader()
      return (proved.keys.header, proved.slots)
    }
    let plans = try plan(slots, opened: opened, of: before)
    try SlotTarget.checkWork(plans.map(\.target))
    guard before.rootGeneration < UInt64(StoreFormat.maximumCounter) else {
      throw StoreError(
        .noNumberLeft, "the store has had the last root key that can be numbered", hint: "export it into a new store")
    }
    let (storeID, generation) = (before.storeID, before.rootGeneration + 1)
    let (root, wrapped) = try sealing { () throws(SealingError) in
      let root = try RootKey.random(storeID: storeID, generation: generation)
      var wrapped: [KeySlotRecord] = []
      for plan in plans {
        let key = try KeySlotRecord.derive(for: plan.target, storeID: storeID)
        wrapped.append(try KeySlotRecord.wrap(root, under: key, slot: plan.slot, label: plan.label))
      }
      return (root, wrapped)
    }
    try store.writing { transaction throws(StoreError) in
      let proved = try transaction.proveHeader()
      guard proved.keys.header == before, proved.slots == slots else {
        throw StoreError(
          .locked, "another process changed the keys meanwhile; nothing was changed here", hint: "try again")
      }
      try transaction.changeRoot(to: root, slots: wrapped, titles: options.titles, from: proved.keys)
    }
    store.holder.withLock { holder in
      if !wrapped.contains(where: { $0.slot == opened }), let first = wrapped.first { holder.slot = first.slot }
      holder.key = .anyOf(replacements.compactMap(\.asStoreKey) + [holder.key])
    }
  }

  /// Plans how each slot is rewrapped.
  ///
  /// - Throws: `keyNeeded`, naming the slots whose secret is missing.
  private func plan(_ slots: [KeySlotRecord], opened: UInt32, of header: StoreHeader) throws(StoreError) -> [Plan] {
    let isTest = header.isTest
    var plans: [Plan] = []
    var open = slots
    if !replacements.isEmpty {
      let label = slots.first { $0.slot == opened }?.label ?? ""
      open.removeAll { $0.slot == opened }
      var next = slots.map(\.slot).max() ?? 0
      for (index, key) in replacements.enumerated() {
        if index > 0 { next += 1 }
        plans.append(
          Plan(slot: index == 0 ? opened : next, label: index == 0 ? label : "", target: try key.target(isTest: isTest))
        )
      }
    }
    var known: [UInt32: SlotTarget] = [:]
    for slot in open {
      if case .recipient(_, let recipient)? = try slot.checkedParameters(isTest: isTest, isRaised: true) {
        known[slot.slot] = .recipient(recipient, isTest: isTest)
      }
    }
    func find(_ key: StoreKey) throws(StoreError) {
      let unknown = open.filter { known[$0.slot] == nil }
      guard !unknown.isEmpty else { return }
      let finding = SlotSecretSearch(
        slots: unknown, isTest: isTest, storeID: header.storeID, generation: header.rootGeneration)
      known.merge(try finding.targets(key)) { first, _ in first }
    }
    if !options.otherKeys.isEmpty { try find(.anyOf(options.otherKeys)) }
    // The store's key is asked for again only if none of the others opened its slot.
    let isOwnMissing = open.contains { $0.slot == opened && known[opened] == nil }
    if options.otherKeys.isEmpty || isOwnMissing { try find(store.holder.withLock { $0.key }) }
    let missing = open.filter { known[$0.slot] == nil }
    guard missing.isEmpty || options.dropsOtherSlots else {
      let names = missing.map { $0.label.isEmpty ? "\($0.slot)" : "\($0.slot) (\($0.label))" }
      throw StoreError(
        .keyNeeded, "the secrets of these slots were not given: \(names.joined(separator: ", ")); nothing was changed",
        hint: "give their keys too, or let go of them with --drop-slots")
    }
    for slot in open {
      guard let target = known[slot.slot] else { continue }
      plans.append(Plan(slot: slot.slot, label: slot.label, target: target))
    }
    guard !plans.isEmpty else {
      throw StoreError(.keyNeeded, "no slot would be left; nothing was changed", hint: "give a new key")
    }
    return plans.sorted { $0.slot < $1.slot }
  }
}

/// Finds the secret of each slot among the known ones, to wrap the slot again.
private struct SlotSecretSearch {
  let slots: [KeySlotRecord]
  let isTest: Bool
  let storeID: [UInt8]
  /// The header's `rk_generation`.
  let generation: UInt64

  func targets(_ key: StoreKey) throws(StoreError) -> [UInt32: SlotTarget] {
    var found: [UInt32: SlotTarget] = [:]
    for way in key.ways {
      for slot in slots where found[slot.slot] == nil {
        guard let parameters = try slot.checkedParameters(isTest: isTest, isRaised: true) else { continue }
        for secret in try secrets(way, for: parameters) where try opens(slot, parameters, secret) {
          found[slot.slot] = target(secret, parameters)
        }
      }
    }
    return found
  }

  /// The secrets of a way for a slot of these parameters; a passphrase is asked for once per slot of its kind.
  private func secrets(_ way: SecretWay, for parameters: SlotParameters) throws(StoreError) -> [SlotSecret] {
    func passphrase(_ typed: Secret) throws(StoreError) -> [SlotSecret] {
      guard parameters.kind == 1 else { return [] }
      return [.passphrase(try sealing { () throws(SealingError) in try Passphrase.normalized(typed) })]
    }
    switch way {
    case .keyFile(let path):
      guard parameters.kind == 2 else { return [] }
      return [.line(try KeyLine.loading(path, as: .key))]
    case .passphrase(let ask):
      guard parameters.kind == 1 else { return [] }
      return try passphrase(try asking(ask))
    case .material(let read):
      guard parameters.kind <= 2 else { return [] }
      let secret = try asking(read)
      guard secret.looksLikeKeyFile else { return try passphrase(Passphrase.droppingLineEnd(secret)) }
      return [.line(try KeyLine.reading(secret))]
    case .provider(let name, let answer):
      guard case .external(_, name, let blob) = parameters else { return [] }
      return [.answer(try asking { try answer(blob) }, provider: name)]
    case .identity:
      return []
    }
  }

  private func opens(_ slot: KeySlotRecord, _ parameters: SlotParameters, _ secret: SlotSecret) throws(StoreError)
    -> Bool
  {
    let (storeID, generation) = (storeID, generation)
    return try sealing { () throws(SealingError) in
      guard let key = try slot.derivedKey(with: secret, parameters: parameters, storeID: storeID) else { return false }
      return try slot.unwrap(with: key, storeID: storeID, generation: generation) != nil
    }
  }

  /// Rewrapping uses the stronger cost: the stored or the default one.
  private func target(_ secret: SlotSecret, _ parameters: SlotParameters) -> SlotTarget? {
    switch (secret, parameters) {
    case (.passphrase(let passphrase), .passphrase(let cost, _)):
      .passphrase(passphrase, cost: (isTest ? ScryptCost.test : .standard).strengthened(to: cost))
    case (.line(let line), .keyFile): .key(line)
    case (.answer(let answer, let provider), .external(_, _, let blob)):
      .external(provider: provider, blob: blob, answer: answer)
    default: nil
    }
  }
}

extension StoreTransaction {
  /// New root key, new active epoch, collections sealed under it, rekey begun: one commit.
  ///
  /// - Parameter titles: the title mode from now on; rows below the new epoch may be in any mode.
  func changeRoot(to root: RootKey, slots: [KeySlotRecord], titles: TitleMode?, from old: SessionKeys)
    throws(StoreError)
  {
    let epoch = (old.keyring.epochs.last?.epoch ?? 0) + 1
    guard old.keyring.epochs.count < Keyring.maximumEpochs, epoch <= UInt32(Int32.max) else {
      throw StoreError(
        .rekeyUnfinished, "too many unfinished rekeys: \(old.keyring.epochs.count) epochs are in use",
        hint: "finish with rekey --resume")
    }
    let collections = try self.collections()
    try writer.willWrite()
    var header = old.header
    header.rootGeneration = root.generation
    header.phase = 1
    if let titles { header.titles = titles.rawValue }
    try forgetUnknownFeatures(in: &header)
    try forgetStatistics()
    let closed = closedEpochs(of: old.keyring)
    (header.keyring, header.commitment) = try sealing { () throws(SealingError) in
      let keyring = Keyring(
        active: epoch, epochs: closed + [try EpochKeys.random(epoch: epoch, storeID: root.storeID)])
      return (try keyring.seal(under: root, phase: 1), try root.commitment(phase: 1))
    }
    let macKey = try sealing { () throws(SealingError) in try root.derive(.headerMAC) }
    header.mac = try header.authenticate(slots, under: macKey)
    let new = try SessionKeys(root: root, header: header, slots: slots)
    let writer = try writer
    // From now on this connection seals under the new keys; a failure restores the old ones.
    try use(new)
    do throws(StoreError) {
      for collection in collections {
        var resealed = collection
        resealed.epoch = epoch
        try writer.replaceCollection(with: resealed)
      }
      writer.state.target = epoch
      writer.state.cursor = 0
      try commit(new, slots)
    } catch {
      rollback()
      try connection.use(old)
      throw error
    }
  }

  /// The epochs of a keyring that this transaction closes, or that were closed before (FORMAT, "Closed epochs").
  ///
  /// Whoever has the old keys can then make no row that seems to be written later, or with a higher id, or that is behind
  /// the cursor of a rekey that this one takes over.
  private func closedEpochs(of keyring: Keyring) -> [EpochKeys] {
    keyring.epochs.map { keys in
      var keys = keys
      if keys.epoch == keyring.active {
        keys.bounds.closed = state.generation + 1
        keys.bounds.ceiling = state.nextID
      } else if keys.epoch < state.target {
        keys.bounds.floor = max(keys.bounds.floor, state.cursor)
      }
      return keys
    }
  }
}
