internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

extension DocumentStore {
  /// The key slots of the store. Each change is one commit, which is small regardless of the store's size.
  public var keys: KeySlots { KeySlots(store: engine) }
}

/// An open store's key slots, which you can list and change.
///
/// Removing a slot doesn't revoke access. The owner of the removed secret and an old copy, or of the root key, can
/// still read previously encrypted data. A rekey prevents that for the data in the file.
public struct KeySlots: Sendable {
  let store: StoreEngine

  /// Returns the slots in the file, sorted by number, after verifying the header and slots. Doesn't ask for a key or
  /// run scrypt.
  ///
  /// - Returns: The number, kind, label and strength of each slot, and whether it opened this store.
  /// - Throws: `damaged` if the header or slots were changed, `locked`, `keyChanged` or `closed`.
  public func list() throws(StoreError) -> [KeySlot] {
    let opened = store.holder.withLock { $0.slot }
    let isTest = store.session.header.isTest
    var listed: [KeySlot] = []
    for slot in try records() { listed.append(try KeySlot(slot, isTest: isTest, opened: slot.slot == opened)) }
    return listed
  }

  /// Adds a slot for a single key, with a label that anyone can read in the file.
  ///
  /// The key is requested and derived before the store is locked, and the new slot is tested before it's committed. A
  /// new passphrase is also tried on each passphrase slot, which takes about 0.4 s each.
  ///
  /// - Returns: The slot's number.
  /// - Throws: `alreadyExists` if a slot has this key file, passphrase or recipient. Providers aren't checked.
  ///   `keyFileInvalid` for an invalid key line. `testKeyRefused` for mixed test and real keys. `tooLarge` for a label
  ///   over 255 bytes. `invalidArgument` if the store has 64 slots, or `key` tries several keys. `readOnly`. The slots
  ///   are then unchanged. `locked` if another process keeps its lock, or reads the old pages in the write-ahead log.
  ///   `cancelled`, `closed` or `suspended` while the call waits for readers. If the message says that the change is
  ///   committed, only the log still contains these pages.
  @discardableResult
  public func add(_ key: StoreKey, label: String = "") throws(StoreError) -> Int {
    try add(try NewSlot(key), label: label)
  }

  /// Adds a slot for a recipient, with a label that anyone can read in the file.
  ///
  /// - Returns: The slot's number.
  /// - Throws: `alreadyExists` if the recipient has a slot, and the other errors of adding a key.
  @discardableResult
  public func add(_ recipient: Recipient, label: String = "") throws(StoreError) -> Int {
    try add(NewSlot(recipient), label: label)
  }

  private func add(_ slot: NewSlot, label: String) throws(StoreError) -> Int {
    try KeySlotRecord.checkLabel(label)
    let target = try slot.target(isTest: store.session.header.isTest)
    let compared = try records()
    try requireNew(target, beside: compared)
    var new: KeySlotRecord.DerivedKey? = try derive(target)
    return try store.changingSlots { slots, root throws(StoreError) in
      try requireNew(target, beside: slots, compared: compared)
      let record = try Self.wrap(root, new.take()!, as: slots.unusedNumber, beside: slots, label: label)
      slots.append(record)
      return Int(record.slot)
    }
  }

  /// Removes a slot. The last slot can't be removed.
  ///
  /// - Throws: `invalidArgument` if the slot doesn't exist or is the last slot, or `readOnly`. The slots are then
  ///   unchanged. `locked` in the same cases as for adding a slot.
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

  /// Replaces a slot, by default the slot that opened the store, with a slot for a new key.
  ///
  /// The new slot is tested before the old slot is removed. A new passphrase gets at least the old passphrase's cost.
  /// Without a `label`, the new slot has the old slot's label.
  ///
  /// - Returns: The new slot's number.
  /// - Throws: `alreadyExists` if another slot has this key, `invalidArgument` if the slot doesn't exist, and the other
  ///   errors of `add`. The slots are then unchanged.
  @discardableResult
  public func replace(slot: Int? = nil, with key: StoreKey, label: String? = nil) throws(StoreError) -> Int {
    if let label { try KeySlotRecord.checkLabel(label) }
    let number = slot ?? Int(store.holder.withLock { $0.slot })
    var compared = try records()
    guard let index = compared.firstIndex(where: { Int($0.slot) == number }) else { throw .noSuchSlot(number) }
    let old = compared.remove(at: index)
    let target = try self.target(try NewSlot(key), replacing: old)
    try requireNew(target, beside: compared)
    var new: KeySlotRecord.DerivedKey? = try derive(target)
    return try store.changingSlots { slots, root throws(StoreError) in
      guard let index = slots.firstIndex(where: { Int($0.slot) == number }) else { throw .noSuchSlot(number) }
      let number = slots.unusedNumber
      let old = slots.remove(at: index)
      let record = try Self.wrap(root, new.take()!, as: number, beside: slots, label: label ?? old.label)
      try requireNew(target, beside: slots, compared: compared)
      slots.append(record)
      return Int(record.slot)
    } committed: { added in
      store.holder.withLock { holder in
        if Int(holder.slot) == number {
          holder = KeyHolder(key: .anyOf([key, holder.key]), slot: UInt32(added))
        }
      }
    }
  }

  // MARK: Inside

  /// Returns the file's slots, verified with the root key.
  private func records() throws(StoreError) -> [KeySlotRecord] {
    try store.reading { transaction throws(StoreError) in try transaction.proveHeader().slots }
  }

  /// Rejects a key that another slot has, and a slot that would raise the scrypt work of opening above its limit.
  ///
  /// - Parameter compared: The slots already compared with the key.
  private func requireNew(_ target: SlotTarget, beside slots: [KeySlotRecord], compared: [KeySlotRecord] = [])
    throws(StoreError)
  {
    let header = store.session.header
    try SlotTarget.checkWork([target], beside: slots, isTest: header.isTest)
    let others = slots.filter { !compared.contains($0) }
    if let same = try target.firstMatch(in: others, of: header) { throw .keyHasSlot(same.slot) }
  }

  /// Returns the target of a slot's new key. A passphrase gets at least the old passphrase's cost.
  private func target(_ slot: NewSlot, replacing old: KeySlotRecord) throws(StoreError) -> SlotTarget {
    let isTest = store.session.header.isTest
    let target = try slot.target(isTest: isTest)
    guard case .passphrase(let secret, let cost) = target,
      case .passphrase(let former, _)? = old.usableParameters(isTest: isTest, isRaised: true)
    else { return target }
    return .passphrase(secret, cost: cost.strengthened(to: former))
  }

  /// Returns the input for wrapping a root key and for testing the slot.
  private func derive(_ target: SlotTarget) throws(StoreError) -> KeySlotRecord.DerivedKey {
    let storeID = store.session.header.storeID
    return try translatingErrors { () throws(SealingError) in
      try KeySlotRecord.derive(for: target, storeID: storeID)
    }
  }

  /// Wraps the root key in a new slot.
  ///
  /// - Parameter slots: The remaining slots.
  private static func wrap(
    _ root: RootKey, _ derived: consuming KeySlotRecord.DerivedKey, as number: UInt32, beside slots: [KeySlotRecord],
    label: String
  ) throws(StoreError) -> KeySlotRecord {
    try KeySlotRecord.requireRoom(for: slots.count + 1, last: number)
    do throws(SealingError) {
      return try KeySlotRecord.wrap(root, under: derived, slot: number, label: label)
    } catch {
      throw StoreError(error)
    }
  }
}

extension [KeySlotRecord] {
  /// The number above all slot numbers.
  fileprivate var unusedNumber: UInt32 { (map(\.slot).max() ?? 0) + 1 }
}

extension StoreError {
  fileprivate static func noSuchSlot(_ number: Int) -> StoreError {
    StoreError(.invalidArgument, "there is no slot \(number)", hint: "\(.listKeys) lists the slots")
  }
}
