internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

extension DocumentStore {
  /// The store's keys: who can open it. Every change is one commit, whatever the store's size.
  public var keys: KeySlots { KeySlots(store: self) }
}

/// Lists and changes the slots of an open store.
///
/// Removing a slot is not revocation: whoever has the old secret and an old copy, or remembers the root key, still
/// reads what was sealed before. Only a rekey ends that for what is in the file.
public struct KeySlots: Sendable {
  let store: DocumentStore

  /// Every slot by rising number, as the file has them now.
  public func list() throws(StoreError) -> [KeySlot] {
    let opened = store.holder.withLock { $0.slot }
    return try store.reading { transaction throws(StoreError) in
      let (header, slots) = try transaction.connection.file.readHeader()
      var listed: [KeySlot] = []
      for slot in slots { listed.append(try KeySlot(slot, isTest: header.isTest, opened: slot.slot == opened)) }
      return listed
    }
  }

  /// Adds a slot.
  ///
  /// The key is asked for and derived before the store is locked, and the new slot is proved to open before it is
  /// committed.
  ///
  /// - Returns: its number.
  @discardableResult
  public func add(_ key: NewKey, label: String = "") throws(StoreError) -> Int {
    try KeySlotRecord.checkLabel(label)
    var new: KeySlotRecord.DerivedKey? = try derive(key)
    return try store.changingSlots { slots, root throws(StoreError) in
      let record = try Self.wrap(root, new.take()!, after: slots, label: label)
      try StoreMaker.checkWork([], beside: slots + [record])
      slots.append(record)
      return Int(record.slot)
    }
  }

  /// Removes a slot; the last one stays.
  ///
  /// - Throws: `invalidArgument` when there is no such slot or no other.
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

  /// Puts a new key in the place of a slot: the one that opened, unless another is named.
  ///
  /// The new slot is proved to open before the old one goes; a passphrase gets at least the cost the old one had.
  ///
  /// - Parameter label: nil keeps the old one's.
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
      try StoreMaker.checkWork([], beside: slots + [record])
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

  /// What a wrap needs, and the proof for it.
  private func derive(_ key: NewKey, replacing old: KeySlotRecord? = nil) throws(StoreError)
    -> KeySlotRecord.DerivedKey
  {
    var target = try key.target(isTest: store.isTest)
    if case .passphrase(let secret, let cost) = target, let old,
      case .passphrase(let former, _)? = try? old.checkedParameters(isTest: store.isTest, isRaised: true)
    {
      target = .passphrase(secret, cost: cost.strengthened(to: former))
    }
    let storeID = store.session.header.storeID
    return try sealing { () throws(SealingError) in
      try KeySlotRecord.derive(for: target, storeID: storeID, nonces: RandomBytes())
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

extension DocumentStore {
  /// One transaction that changes the slots and nothing else.
  ///
  /// It builds only on header and slot rows that it reads and proves itself: a slot put back, or a recipient swapped,
  /// in an open session must not be sealed into the new header (FORMAT, "Each transaction").
  func changingSlots<R>(_ change: (inout [KeySlotRecord], RootKey) throws(StoreError) -> R) throws(StoreError) -> R {
    try writing { transaction throws(StoreError) in
      let proved = try transaction.proveHeader()
      var slots = proved.slots
      let result = try change(&slots, proved.keys.root)
      var header = proved.keys.header
      header.mac = try header.authenticate(slots, under: proved.keys.headerMACKey)
      let keys = try SessionKeys(root: proved.keys.root, header: header, slots: slots)
      try transaction.commit(keys, slots)
      return result
    }
  }
}

extension StoreHeader {
  func authenticate(_ slots: [KeySlotRecord], under key: Secret) throws(StoreError) -> [UInt8] {
    let bytes = authenticatedBytes(slots: slots)
    return try sealing { () throws(SealingError) in try HMACKey(key).authenticate(bytes) }
  }
}

extension StoreTransaction {
  /// Header and slots as this transaction reads them, proved with the root key in memory.
  func proveHeader() throws(StoreError) -> (keys: SessionKeys, slots: [KeySlotRecord]) {
    let (header, slots) = try connection.file.readHeader()
    return (try SessionKeys(root: keys.session.root, header: header, slots: slots), slots)
  }

  /// Writes header, slots and state of new keys and commits; the session goes on with them.
  func commit(_ new: SessionKeys, _ slots: [KeySlotRecord]) throws(StoreError) {
    let old = keys.session
    try willWrite()
    try new.header.update(database)
    try storing { () throws(SQLiteError) in _ = try database.execute(SQL.deleteSlots) }
    for slot in slots.sorted(by: { $0.slot < $1.slot }) { try slot.insert(database) }
    state.headerMAC = new.header.mac
    if keys.session !== new { try connection.use(new) }
    connection.session.announce(new)
    do throws(StoreError) {
      try commit()
    } catch {
      connection.session.announce(nil)
      try connection.use(old)
      guard error.code == .ioFailure else { throw error }
      // A commit may have been written before what failed in it.
      throw StoreError(
        error.code, error.message,
        hint:
          "it is not sure whether the keys were changed: keep the old and the new ones, and see which open the store")
    }
    connection.session.replaceKeys(new)
  }
}
