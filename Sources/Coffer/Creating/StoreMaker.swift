internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// Creates a store file: header, slots, keyring and state, without rows.
struct StoreMaker {
  let path: String
  let creation: CreateOptions
  let wait: Duration?
  /// Whether an existing file at `path` may be replaced.
  var replacesExisting = false
  /// A file that is read meanwhile and must not be replaced.
  var source: String?
  /// The generation of the empty store.
  var firstGeneration: UInt64 = 1

  /// A complete store beside its path, not yet renamed.
  struct Draft {
    let file: StagedFile
    let unlocked: Unlocking.Unlocked
    let keys: SessionKeys
  }

  func make(_ keys: [NewKey], allowsTestKeys: Bool) throws(StoreError) -> (Unlocking.Unlocked, SessionKeys) {
    let draft = try draft(try prepare(keys, allowsTestKeys: allowsTestKeys))
    try publish(draft)
    return (draft.unlocked, draft.keys)
  }

  /// Creates a store, which `fill` writes into in one transaction before the file is renamed.
  ///
  /// - Parameter begin: called when all keys are known and before anything is written.
  /// - Throws: errors of `begin` and `fill`; nothing is left then.
  func make(
    _ keys: [NewKey], allowsTestKeys: Bool, begin: () throws -> Void, fill: (StoreTransaction) throws -> Void
  ) throws -> SessionKeys {
    try make(keys, options: OpenOptions(), allowsTestKeys: allowsTestKeys, begin: begin) { try $0.write(nil, fill) }
      .keys
  }

  /// The same, but `use` may run any number of transactions.
  func make<R>(
    _ keys: [NewKey], options: OpenOptions, allowsTestKeys: Bool, begin: () throws -> Void,
    use: (StoreEngine) throws -> R
  ) throws -> (keys: SessionKeys, result: R) {
    let parts = try prepare(keys, allowsTestKeys: allowsTestKeys)
    try begin()
    let draft = try draft(parts)
    let result: R
    do {
      let file = try StoreFile(at: draft.file.temporary, wait: wait, cacheBytes: ConnectionPool.readerCache)
      let store = try StoreEngine(
        file, at: path, unlocked: draft.unlocked, keys: draft.keys, key: .anyOf([]), options: options, verb: "created")
      result = try use(store)
      try store.connections.close()
    } catch {
      draft.file.discard()
      throw error
    }
    try publish(draft)
    return (draft.keys, result)
  }

  /// The parts of a new store, in memory.
  private typealias Parts = (root: RootKey, header: StoreHeader, slots: [KeySlotRecord])

  private func prepare(_ keys: [NewKey], allowsTestKeys: Bool) throws(StoreError) -> Parts {
    try StoreEngine.requireSoundCipher()
    guard !keys.isEmpty else { throw StoreError(.keyNeeded, "a new store needs a key") }
    guard keys.count <= KeySlotRecord.maximumSlots else {
      throw StoreError(.invalidArgument, "a store has at most \(KeySlotRecord.maximumSlots) slots")
    }
    var isTest = creation.isTest || keys.contains(where: \.isKnownTestKey)
    // Before any secret is asked for, and again if a secret turns out to be a test key.
    try requireAllowance(isTest, allowsTestKeys)
    try StagedFile(path, replacesExisting: replacesExisting, source: source).checkPlace()
    var given: [NewKey.Given] = []
    for key in keys { given.append(try key.asked()) }
    isTest = isTest || given.contains(where: \.isTest)
    try requireAllowance(isTest, allowsTestKeys)
    return try sealed(given, isTest: isTest)
  }

  private func requireAllowance(_ isTest: Bool, _ allowsTestKeys: Bool) throws(StoreError) {
    guard allowsTestKeys || !isTest else {
      throw StoreError(
        .testKeyRefused, "a TEST store can be read by anyone: its keys are published",
        hint: "allow it only in tests (\(.allowTestKeys))")
    }
  }

  private func draft(_ parts: Parts) throws(StoreError) -> Draft {
    let session = try SessionKeys(root: parts.root, header: parts.header, slots: parts.slots)
    let file = try StagedFile(path, replacesExisting: replacesExisting, source: source)
    do throws(StoreError) {
      try write(session, parts.slots, to: file)
    } catch {
      file.discard()
      throw error
    }
    return Draft(file: file, unlocked: Unlocking.Unlocked(root: parts.root, slot: 1), keys: session)
  }

  /// Generates the keys and wraps the root key for every slot.
  private func sealed(_ keys: [NewKey.Given], isTest: Bool) throws(StoreError) -> Parts {
    var targets: [SlotTarget] = []
    for key in keys { targets.append(try key.target(isTest: isTest)) }
    try SlotTarget.checkWork(targets)
    try SlotTarget.requireDistinct(targets)
    for label in creation.labels { try KeySlotRecord.checkLabel(label) }
    return try sealing { () throws(SealingError) in
      let storeID = try SystemRandom.bytes(StoreFormat.storeIDCount)
      let root = try RootKey.random(storeID: storeID, generation: 1)
      let epoch = try EpochKeys.random(epoch: 1, storeID: storeID)
      var slots: [KeySlotRecord] = []
      for (index, target) in targets.enumerated() {
        let derived = try KeySlotRecord.derive(for: target, storeID: storeID)
        slots.append(
          try KeySlotRecord.wrap(
            root, under: derived, slot: UInt32(index + 1),
            label: index < creation.labels.count ? creation.labels[index] : ""))
      }
      var features: StoreFormat.Incompatible = []
      if isTest { features.insert(.test) }
      if creation.isPadded { features.insert(.padded) }
      var header = StoreHeader(
        format: StoreFormat.version, storeID: storeID, incompatible: features.rawValue, readOnlyCompatible: 0,
        compatible: 0, titles: creation.titles.rawValue, rootGeneration: root.generation, phase: 1,
        commitment: try root.commitment(phase: 1),
        keyring: try Keyring(active: 1, epochs: [epoch]).seal(under: root, phase: 1), mac: [])
      header.mac = try HMACKey(root.derive(.headerMAC)).authenticate(header.authenticatedBytes(slots: slots))
      return (root, header, slots)
    }
  }

  private func write(_ keys: SessionKeys, _ slots: [KeySlotRecord], to file: StagedFile) throws(StoreError) {
    try file.make()
    let database: Database
    do throws(SQLiteError) {
      database = try Database(
        file.temporary, mode: .readWrite,
        configuration: .init(busyTimeout: wait, isHardened: true, enforcesForeignKeys: false))
      _ = try database.textPragma("page_size = \(StoreFormat.pageSize)")
      _ = try database.textPragma("encoding = 'UTF-8'")
      try database.setStorePragmas()
      try database.begin(.exclusive)
      _ = try database.textPragma("application_id = \(StoreFormat.applicationID)")
      _ = try database.textPragma("user_version = \(StoreFormat.version)")
      for (_, sql) in Schema.objects { _ = try database.execute(sql) }
    } catch {
      throw StoreError(error, path: path)
    }
    let rows = StoreDatabase(database)
    try keys.header.insert(rows, slots: slots)
    let state = StoreState(headerMAC: keys.header.mac, generation: firstGeneration)
    try rows.execute(SQL.insertState, try StateCipher(keys).seal(state))
    do throws(SQLiteError) {
      try database.commit()
      try database.close()
    } catch {
      throw StoreError(error, path: path)
    }
  }
}

extension StoreMaker {
  /// Renames the finished file, unless another file took the name meanwhile, and makes the name durable.
  func publish(_ draft: Draft) throws(StoreError) {
    do throws(StoreError) {
      try setJournal(draft.file.temporary)
      try draft.file.publish()
    } catch {
      draft.file.discard()
      throw error
    }
  }

  /// Sets the journal mode last, so that the bulk writes before it go straight into the file, not through a log.
  private func setJournal(_ temporary: String) throws(StoreError) {
    guard creation.journal == .writeAheadLog else { return }
    do throws(SQLiteError) {
      let database = try Database(
        temporary, configuration: .init(busyTimeout: wait, isHardened: true, enforcesForeignKeys: false))
      _ = try database.textPragma("journal_mode = WAL")
      try database.close()
    } catch {
      throw StoreError(error, path: path)
    }
  }
}
