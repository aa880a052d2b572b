internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

/// The first transaction of a rekey, which creates a new root key for every slot and a new epoch for all later writes.
///
/// Secrets are requested and derived before taking the write lock. If slots change in the meantime, the rekey stops.
struct KeyChange {
  let store: StoreEngine
  let options: RekeyOptions
  /// The keys and recipients of the slots that replace the slot that opened the store.
  let keys: [StoreKey]
  let recipients: [Recipient]

  struct PlannedSlot {
    let slot: UInt32
    let label: String
    let target: SlotTarget
  }

  /// A key change with all its secrets, before the first write.
  struct Plan {
    let header: StoreHeader
    let slots: [KeySlotRecord]
    let planned: [PlannedSlot]
    /// The slots that keep their secret.
    let unchanged: [KeySlot]
  }

  /// Plans how to rewrap each slot, without writing.
  ///
  /// - Throws: `keyNeeded` with the slots whose secret is missing and the recipients that aren't kept.
  ///   `invalidArgument` if a recipient to keep doesn't have a slot. `alreadyExists` if a new key already has a slot.
  func plan() throws(StoreError) -> Plan {
    let opened = store.holder.withLock { $0.slot }
    let (header, slots) = try store.reading { transaction throws(StoreError) in
      let proved = try transaction.proveHeader()
      return (proved.keys.header, proved.slots)
    }
    let new = try newSlots(slots, opened: opened, isTest: header.isTest)
    let kept = try keptSlots(
      new.isEmpty ? slots : slots.filter { $0.slot != opened }, opened: opened, isReplacing: !new.isEmpty, of: header)
    for slot in new {
      if let same = kept.first(where: { $0.target.isForSameKey(as: slot.target) }) { throw .keyHasSlot(same.slot) }
    }
    let planned = (new + kept).sorted { $0.slot < $1.slot }
    guard !planned.isEmpty else {
      throw StoreError(.keyNeeded, "no slot would be left; nothing was changed", hint: "give a new key")
    }
    try KeySlotRecord.requireRoom(for: planned.count, last: planned.last?.slot)
    try SlotTarget.checkWork(planned.map(\.target))
    var unchanged = Set(kept.map(\.slot))
    for slot in new {
      // The new key may equal the old key.
      let replaced = slots.filter { $0.slot == opened }
      if try slot.target.firstMatch(in: replaced, of: header) != nil { unchanged.insert(opened) }
    }
    var listed: [KeySlot] = []
    for slot in slots where unchanged.contains(slot.slot) {
      listed.append(try KeySlot(slot, isTest: header.isTest, opened: slot.slot == opened))
    }
    return Plan(header: header, slots: slots, planned: planned, unchanged: listed)
  }

  /// Commits the key change, and returns the new keys.
  func run(_ plan: Plan) throws(StoreError) -> SessionKeys {
    let before = plan.header
    guard before.rootGeneration < UInt64(StoreFormat.maximumCounter) else {
      throw StoreError(
        .noNumberLeft, "no number is left for another root key", hint: "export it into a new store")
    }
    let (storeID, generation) = (before.storeID, before.rootGeneration + 1)
    let (root, wrapped) = try translatingErrors { () throws(SealingError) in
      let root = try RootKey.random(storeID: storeID, generation: generation)
      var wrapped: [KeySlotRecord] = []
      for slot in plan.planned {
        let key = try KeySlotRecord.derive(for: slot.target, storeID: storeID)
        wrapped.append(try KeySlotRecord.wrap(root, under: key, slot: slot.slot, label: slot.label))
      }
      return (root, wrapped)
    }
    let new = try store.writing { transaction throws(StoreError) in
      let proved = try transaction.proveHeader()
      guard proved.keys.header.hasSameKeys(as: before), proved.slots == plan.slots else {
        throw StoreError(
          .locked, "another process changed the keys meanwhile; nothing was changed here", hint: "try again")
      }
      return try RootChange(transaction: transaction)
        .run(to: root, slots: wrapped, titles: options.titles, from: proved.keys)
    }
    store.holder.withLock { holder in
      let opened = holder.slot
      if !wrapped.contains(where: { $0.slot == opened }), let first = wrapped.first { holder.slot = first.slot }
      holder.key = .anyOf(keys + [holder.key])
    }
    return new
  }

  /// Returns the slots for the new keys. The first key replaces the slot that opened the store. Others get new numbers.
  private func newSlots(_ slots: [KeySlotRecord], opened: UInt32, isTest: Bool) throws(StoreError) -> [PlannedSlot] {
    let label = slots.first { $0.slot == opened }?.label ?? ""
    let last = slots.map(\.slot).max() ?? 0
    var new: [PlannedSlot] = []
    for (index, key) in NewSlot.slots(for: keys, recipients).enumerated() {
      new.append(
        PlannedSlot(
          slot: index == 0 ? opened : last + UInt32(index), label: index == 0 ? label : "",
          target: try key.target(isTest: isTest)))
    }
    try SlotTarget.requireDistinct(new.map(\.target))
    return new
  }

  /// Returns the slots to keep, each with its own secret or recipient.
  ///
  /// - Parameter isReplacing: Whether new keys replace the slot that opened the store. The session's own keys don't keep
  ///   other slots then, because one of them may be the key that leaked.
  private func keptSlots(
    _ slots: [KeySlotRecord], opened: UInt32, isReplacing: Bool, of header: StoreHeader
  ) throws(StoreError) -> [PlannedSlot] {
    var known = try keptRecipients(slots, isTest: header.isTest)
    func find(_ key: StoreKey) throws(StoreError) {
      let unknown = slots.filter { known[$0.slot] == nil }
      guard !unknown.isEmpty else { return }
      known.merge(try SlotSecretSearch(slots: unknown, header: header).targets(key)) { first, _ in first }
    }
    if !options.otherKeys.isEmpty { try find(.anyOf(options.otherKeys)) }
    // Ask for the store's key only if the other keys don't open its slot.
    let isOwnMissing = slots.contains { $0.slot == opened && known[opened] == nil }
    if options.otherKeys.isEmpty && !isReplacing || isOwnMissing { try find(store.holder.withLock { $0.key }) }
    let missing = slots.filter { known[$0.slot] == nil }
    guard missing.isEmpty || options.dropsOtherSlots else {
      throw try StoreError.undecided(missing, isTest: header.isTest)
    }
    var kept: [PlannedSlot] = []
    for slot in slots {
      if let target = known[slot.slot] { kept.append(PlannedSlot(slot: slot.slot, label: slot.label, target: target)) }
    }
    return kept
  }

  /// Returns the recipient slots named in the options. Other recipient slots need their identity, because an insider
  /// may have added them.
  private func keptRecipients(_ slots: [KeySlotRecord], isTest: Bool) throws(StoreError) -> [UInt32: SlotTarget] {
    var named: [(RekeyOptions.Kept, publicKey: [UInt8]?)] = []
    for recipient in options.keptRecipients { named.append((recipient, try recipient.publicKey(isTest: isTest))) }
    var known: [UInt32: SlotTarget] = [:]
    var found: Set<RekeyOptions.Kept> = []
    for slot in slots {
      guard case .recipient(_, let recipient)? = slot.usableParameters(isTest: isTest, isRaised: true),
        !X25519.isSmallOrder(recipient)
      else { continue }
      let names = named.filter { name, publicKey in publicKey == recipient || name == .slot(Int(slot.slot)) }
      found.formUnion(names.map(\.0))
      guard options.keepsAllRecipients || !names.isEmpty else { continue }
      known[slot.slot] = .recipient(recipient, isTest: isTest)
    }
    if let absent = options.keptRecipients.first(where: { !found.contains($0) }) {
      throw StoreError(
        .invalidArgument, "\(absent.absence); nothing was changed",
        hint: "\(.listKeys) shows the slots and their recipients")
    }
    return known
  }
}

extension RekeyOptions.Kept {
  /// Returns the recipient's public key, or `nil` if either the recipient or the store is for tests, but not both.
  fileprivate func publicKey(isTest: Bool) throws(StoreError) -> [UInt8]? {
    guard case .recipient(let recipient) = self else { return nil }
    return try translatingErrors { () throws(SealingError) in
      let line = try KeyLine(recipient: recipient.line)
      return line.isTest == isTest ? try line.recipientBytes() : nil
    }
  }

  fileprivate var absence: String {
    switch self {
    case .slot(let number): "slot \(number) is not a recipient's slot that can be kept"
    case .recipient: "no slot that can be kept is for the recipient given"
    }
  }
}

extension StoreError {
  /// Returns the error for slots that a rekey can neither rewrap nor drop.
  fileprivate static func undecided(_ slots: [KeySlotRecord], isTest: Bool) throws(StoreError) -> StoreError {
    let unusable = try slots.unusable(isTest: isTest)
    var (recipients, others): ([String], [String]) = ([], [])
    for record in slots where !unusable.contains(where: { $0.slot == Int(record.slot) }) {
      let slot = try KeySlot(record, isTest: isTest, opened: false)
      if slot.kind == .recipient { recipients.append(slot.name) } else { others.append(slot.name) }
    }
    var reasons: [String] = []
    var hints: [ErrorHint] = []
    if !unusable.isEmpty { reasons.append(unusable.faults) }
    if !others.isEmpty {
      reasons.append("the secrets of these slots were not given: \(others.joined(separator: "; "))")
      hints.append("give their keys too, with \(.otherKeys)")
    }
    if !recipients.isEmpty {
      reasons.append("recipients are neither kept nor dropped in these slots: \(recipients.joined(separator: "; "))")
      hints.append("keep recipients that you know with \(.keepRecipient)")
    }
    let dropping: ErrorHint =
      if !hints.isEmpty {
        "or drop the slots with \(.dropSlots)"
      } else {
        "drop \(unusable.count == 1 ? "it" : "them") with \(.dropSlots)"
      }
    return StoreError(
      .keyNeeded, (reasons + ["nothing was changed"]).joined(separator: "; "),
      hint: hints.reversed().reduce(dropping) { "\($1), \($0)" })
  }
}

/// Replaces the root key in a transaction.
private struct RootChange {
  let transaction: StoreTransaction

  /// Sets the root key, adds an active epoch, seals the collections under it, and begins the rekey in one commit. Returns the new keys.
  ///
  /// - Parameter titles: The new title mode. Rows under older epochs can be in any mode.
  func run(to root: RootKey, slots: [KeySlotRecord], titles: CreateOptions.Titles?, from old: SessionKeys)
    throws(StoreError) -> SessionKeys
  {
    let epoch = (old.keyring.epochs.last?.epoch ?? 0) + 1
    guard old.keyring.epochs.count < Keyring.maximumEpochs, epoch <= UInt32(Int32.max) else {
      throw StoreError(
        .rekeyUnfinished, "too many unfinished rekeys: \(old.keyring.epochs.count) epochs are in use",
        hint: "finish with \(.resumeRekey)")
    }
    let writer = try transaction.writer
    try writer.willWrite()
    // Use the old keys to compute the marks and elements of the rows to re-encrypt.
    try writer.marksOfEarlierCommits()
    let former = transaction.keys
    let collections = try transaction.storedCollections()
    var header = old.header
    header.rootGeneration = root.generation
    header.phase = 1
    if let titles { header.titles = titles.rawValue }
    try transaction.clearUnknownFeatures(in: &header)
    try transaction.clearStatistics()
    let indexes = try transaction.removeIndexPages()
    let closed = closedEpochs(of: old.keyring)
    (header.keyring, header.commitment) = try translatingErrors { () throws(SealingError) in
      let keyring = Keyring(
        active: epoch, family: old.keyring.family,
        epochs: closed + [try EpochKeys.random(epoch: epoch, storeID: root.storeID)])
      return (try keyring.seal(under: root, phase: 1), try root.commitment(phase: 1))
    }
    let macKey = try translatingErrors { () throws(SealingError) in try root.derive(.headerMAC) }
    header.mac = try header.authenticate(slots, under: macKey)
    let new = try SessionKeys(root: root, header: header, slots: slots)
    // The connection now seals under the new keys. A failure restores the old keys.
    try transaction.use(new)
    do throws(StoreError) {
      for collection in collections { try writer.replaceCollection(with: collection, sealedBy: former) }
      try DeletionWalk.forEach(transaction.database, within: transaction.limits) { row throws(StoreError) in
        try writer.replaceDeletion(try row.element(former), with: DeletionRecord(row, former))
      }
      try transaction.forEachAttachmentRow { row throws(StoreError) in
        try writer.replaceAttachment(try row.element(former), with: AttachmentRecord(row, former), of: nil)
      }
      try writer.changeReplicas { _ throws(StoreError) in }
      try transaction.putIndexRoots(indexes)
      writer.state.target = epoch
      writer.state.cursor = 0
      try transaction.commit(new, slots, replacing: old)
      return new
    } catch {
      transaction.rollback()
      try transaction.connection.use(old)
      throw error
    }
  }

  /// Returns the keyring's epochs with the limits of closed epochs (FORMAT, "Closed epochs").
  ///
  /// Holders of the old keys then can't forge rows with later generations or higher IDs, or rows already processed by a
  /// rekey that this rekey continues.
  private func closedEpochs(of keyring: Keyring) -> [EpochKeys] {
    keyring.epochs.map { keys in
      var keys = keys
      if keys.epoch == keyring.active {
        keys.bounds.closed = transaction.start.generation + 1
        keys.bounds.ceiling = transaction.state.bound
      } else if keys.epoch < transaction.state.target {
        keys.bounds.floor = max(keys.bounds.floor, transaction.state.cursor)
      }
      return keys
    }
  }
}
