internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

extension DocumentStore {
  /// The slots of the keys that open the store. Every change is one commit, small in a store of any size.
  public var keys: KeySlots { KeySlots(store: engine) }
}

/// Lists and changes the slots of an open store.
///
/// Removing a slot is not revocation: a holder of the old secret and an old copy, or of the root key, can still read
/// what was sealed before. Only a rekey ends that for the data in the file.
public struct KeySlots: Sendable {
  let store: StoreEngine

  /// Every slot now in the file, sorted by number; header and slots are verified first. Asks for no key and runs no
  /// scrypt.
  ///
  /// - Returns: number, kind, label and strength of each slot, and whether it opened this store.
  /// - Throws: `damaged` if they are not as they were written; `locked`, `keyChanged`, `closed`.
  public func list() throws(StoreError) -> [KeySlot] {
    let opened = store.holder.withLock { $0.slot }
    let isTest = store.session.header.isTest
    var listed: [KeySlot] = []
    for slot in try records() { listed.append(try KeySlot(slot, isTest: isTest, opened: slot.slot == opened)) }
    return listed
  }

  /// Adds a slot for `key`, with a label that anyone can read in the file.
  ///
  /// The key is asked for and derived before the store is locked, and the new slot is tested to open before it is
  /// committed. A passphrase is also tried on each passphrase slot, about 0.4 s each, to see whether it is new.
  ///
  /// - Returns: its number.
  /// - Throws: `alreadyExists` if a slot has this key file, passphrase or recipient; a provider is not asked.
  ///   `keyFileInvalid` for an invalid key line; `testKeyRefused` if test and real keys would mix; `tooLarge` for a
  ///   label over 255 bytes; `invalidArgument` if the store has 64 slots; `readOnly`. The slots are then as before.
  ///   `locked` if another process or thread keeps its lock: the message says if the change is committed, and only the
  ///   write-ahead log still has the old pages.
  @discardableResult
  public func add(_ key: NewKey, label: String = "") throws(StoreError) -> Int {
    try KeySlotRecord.checkLabel(label)
    let target = try key.target(isTest: store.session.header.isTest)
    let compared = try records()
    try requireNew(target, beside: compared)
    var new: KeySlotRecord.DerivedKey? = try derive(target)
    return try store.changingSlots { slots, root throws(StoreError) in
      try requireNew(target, beside: slots, compared: compared)
      let record = try Self.wrap(root, new.take()!, after: slots, label: label)
      slots.append(record)
      return Int(record.slot)
    }
  }

  /// Removes a slot; the last one can't be removed.
  ///
  /// - Throws: `invalidArgument` if there is no such slot or no other, `readOnly`; the slots are then as before.
  ///   `locked` as for adding a slot.
  public func remove(slot: Int) throws(StoreError) {
    try store.changingSlots { slots, _ throws(StoreError) in
      guard let index = slots.firstIndex(where: { Int($0.slot) == slot }) else { throw .noSuchSlot(slot) }
      guard slots.count > 1 else {
        throw StoreError(
          .invalidArgument, "slot \(slot) is the last one: without it no key opens the store",
          hint: "add another key first")
      }
      slots.remove(at: index)
    }
  }

  /// Replaces a slot by one for a new key: the slot that opened, unless another is named.
  ///
  /// The new slot is tested to open before the old one is removed; a passphrase gets at least the cost of the old one.
  /// Without a `label` the new slot has the old one's.
  ///
  /// - Returns: the new slot's number.
  /// - Throws: `alreadyExists` if another slot has this key; `invalidArgument` if there is no slot of that number; the
  ///   other errors of `add`. The slots are then as before.
  @discardableResult
  public func replace(slot: Int? = nil, with key: NewKey, label: String? = nil) throws(StoreError) -> Int {
    if let label { try KeySlotRecord.checkLabel(label) }
    let number = slot ?? Int(store.holder.withLock { $0.slot })
    var compared = try records()
    guard let index = compared.firstIndex(where: { Int($0.slot) == number }) else { throw .noSuchSlot(number) }
    let old = compared.remove(at: index)
    let target = try self.target(key, replacing: old)
    try requireNew(target, beside: compared)
    var new: KeySlotRecord.DerivedKey? = try derive(target)
    let added = try store.changingSlots { slots, root throws(StoreError) in
      guard let index = slots.firstIndex(where: { Int($0.slot) == number }) else { throw .noSuchSlot(number) }
      let record = try Self.wrap(root, new.take()!, after: slots, label: label ?? slots[index].label)
      slots.remove(at: index)
      try requireNew(target, beside: slots, compared: compared)
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

  /// Replaces the slot that opened by a passphrase, which `ask` returns in UTF-8.
  ///
  /// - Returns: the new slot's number.
  /// - Throws: the errors of `replace`, and `keyFileInvalid` for a passphrase that is empty or too long.
  @discardableResult
  public func changePassphrase(_ ask: @escaping @Sendable () throws -> Secret) throws(StoreError) -> Int {
    try replace(with: .passphrase(ask))
  }

  // MARK: Inside

  /// The slots in the file, proved with the root key.
  private func records() throws(StoreError) -> [KeySlotRecord] {
    try store.reading { transaction throws(StoreError) in try transaction.proveHeader().slots }
  }

  /// Refuses a key that another slot has, and a slot that would raise the scrypt work of opening above its limit.
  ///
  /// - Parameter compared: slots that were compared with the key before.
  private func requireNew(_ target: SlotTarget, beside slots: [KeySlotRecord], compared: [KeySlotRecord] = [])
    throws(StoreError)
  {
    try SlotTarget.checkWork([target], beside: slots)
    let others = slots.filter { !compared.contains($0) }
    if let same = try target.firstMatch(in: others, of: store.session.header) { throw .keyHasSlot(same.slot) }
  }

  /// The new key of a slot; a passphrase gets at least the cost of the old one.
  private func target(_ key: NewKey, replacing old: KeySlotRecord) throws(StoreError) -> SlotTarget {
    let isTest = store.session.header.isTest
    let target = try key.target(isTest: isTest)
    guard case .passphrase(let secret, let cost) = target,
      case .passphrase(let former, _)? = try? old.checkedParameters(isTest: isTest, isRaised: true)
    else { return target }
    return .passphrase(secret, cost: cost.strengthened(to: former))
  }

  /// The input of a wrap, and of the test that the slot opens.
  private func derive(_ target: SlotTarget) throws(StoreError) -> KeySlotRecord.DerivedKey {
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

extension StoreError {
  fileprivate static func noSuchSlot(_ number: Int) -> StoreError {
    StoreError(.invalidArgument, "there is no slot \(number)", hint: "\(.listKeys) lists the slots")
  }
}
