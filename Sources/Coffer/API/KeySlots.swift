internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

extension DocumentStore {
  /// The slots of the keys that open the store. Every change is one commit, whatever the store's size.
  public var keys: KeySlots { KeySlots(store: engine) }
}

/// Lists and changes the slots of an open store.
///
/// Removing a slot is not revocation: a holder of the old secret and an old copy, or of the root key, can still read
/// what was sealed before. Only a rekey ends that for the data in the file.
public struct KeySlots: Sendable {
  let store: StoreEngine

  /// Every slot now in the file, sorted by number; header and slots are verified first.
  ///
  /// - Throws: `damaged` if they are not as they were written.
  public func list() throws(StoreError) -> [KeySlot] {
    let opened = store.holder.withLock { $0.slot }
    return try store.reading { transaction throws(StoreError) in
      let (keys, slots) = try transaction.proveHeader()
      var listed: [KeySlot] = []
      for slot in slots { listed.append(try KeySlot(slot, isTest: keys.header.isTest, opened: slot.slot == opened)) }
      return listed
    }
  }

  /// Adds a slot.
  ///
  /// The key is asked for and derived before the store is locked, and the new slot is tested to open before it is
  /// committed.
  ///
  /// - Returns: its number.
  @discardableResult
  public func add(_ key: NewKey, label: String = "") throws(StoreError) -> Int {
    try KeySlotRecord.checkLabel(label)
    var new: KeySlotRecord.DerivedKey? = try derive(key)
    return try store.changingSlots { slots, root throws(StoreError) in
      let record = try Self.wrap(root, new.take()!, after: slots, label: label)
      try SlotTarget.checkWork([], beside: slots + [record])
      slots.append(record)
      return Int(record.slot)
    }
  }

  /// Removes a slot; the last one can't be removed.
  ///
  /// - Throws: `invalidArgument` if there is no such slot or no other.
  public func remove(slot: Int) throws(StoreError) {
    try store.changingSlots { slots, _ throws(StoreError) in
      guard let index = slots.firstIndex(where: { Int($0.slot) == slot }) else {
        throw StoreError(.invalidArgument, "there is no slot \(slot)", hint: "key list shows those there are")
      }
      guard slots.count > 1 else {
        throw StoreError(
          .invalidArgument, "slot \(slot) is the last one: without it nobody could open the store",
          hint: "add another key first")
      }
      slots.remove(at: index)
    }
  }

  /// Replaces a slot by one for a new key: the slot that opened, unless another is named.
  ///
  /// The new slot is tested to open before the old one is removed; a passphrase gets at least the cost of the old one.
  ///
  /// - Parameter label: nil keeps the old label.
  /// - Returns: the new slot's number.
  @discardableResult
  public func replace(slot: Int? = nil, with key: NewKey, label: String? = nil) throws(StoreError) -> Int {
    if let label { try KeySlotRecord.checkLabel(label) }
    let number = slot ?? Int(store.holder.withLock { $0.slot })
    let old = try records().first { Int($0.slot) == number }
    var new: KeySlotRecord.DerivedKey? = try derive(key, replacing: old)
    let added = try store.changingSlots { slots, root throws(StoreError) in
      guard let index = slots.firstIndex(where: { Int($0.slot) == number }) else {
        throw StoreError(.invalidArgument, "there is no slot \(number)", hint: "key list shows those there are")
      }
      let record = try Self.wrap(root, new.take()!, after: slots, label: label ?? slots[index].label)
      slots.remove(at: index)
      try SlotTarget.checkWork([], beside: slots + [record])
      slots.append(record)
      return Int(record.slot)
    }
    store.holder.withLock { holder in
      if Int(holder.slot) == number {
        holder = KeyHolder(key: .anyOf([key.asStoreKey, holder.key].compactMap { $0 }), slot: UInt32(added))
      }
    }
    return added
  }

  /// Replaces the slot that opened by a passphrase.
  @discardableResult
  public func changePassphrase(_ ask: @escaping @Sendable () throws -> Secret) throws(StoreError) -> Int {
    try replace(with: .passphrase(ask))
  }

  // MARK: Inside

  private func records() throws(StoreError) -> [KeySlotRecord] {
    try store.reading { transaction throws(StoreError) in try transaction.connection.file.readHeader().1 }
  }

  /// The input of a wrap, and of the test that the slot opens.
  private func derive(_ key: NewKey, replacing old: KeySlotRecord? = nil) throws(StoreError)
    -> KeySlotRecord.DerivedKey
  {
    var target = try key.target(isTest: store.session.header.isTest)
    if case .passphrase(let secret, let cost) = target, let old,
      case .passphrase(let former, _)? = try? old.checkedParameters(isTest: store.session.header.isTest, isRaised: true)
    {
      target = .passphrase(secret, cost: cost.strengthened(to: former))
    }
    let storeID = store.session.header.storeID
    return try sealing { () throws(SealingError) in
      try KeySlotRecord.derive(for: target, storeID: storeID)
    }
  }

  /// The number of a new slot is the highest + 1.
  private static func wrap(
    _ root: RootKey, _ derived: consuming KeySlotRecord.DerivedKey, after slots: [KeySlotRecord], label: String
  ) throws(StoreError) -> KeySlotRecord {
    guard slots.count < KeySlotRecord.maximumSlots else {
      throw StoreError(.invalidArgument, "a store has at most \(KeySlotRecord.maximumSlots) slots")
    }
    let number = (slots.map(\.slot).max() ?? 0) + 1
    guard number <= UInt32(Int32.max) else { throw StoreError(.tooLarge, "no more slots can be numbered") }
    do throws(SealingError) {
      return try KeySlotRecord.wrap(root, under: derived, slot: number, label: label)
    } catch {
      throw StoreError(error)
    }
  }
}
