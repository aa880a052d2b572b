package import CofferRecords
internal import CofferSQLite
package import CofferSealing

/// The data that a copy shares with its store, so both can be merged (FORMAT, "Replicas").
package struct StoreHeritage {
  let family: Secret
  /// The store's replicas, whose changes the copy includes.
  package let replicas: Replicas
  /// The store's counter, above which the copy's begin.
  package let counter: UInt64
  /// Whether the copy gives IDs of a range of its own, because the store goes on giving its own.
  let hasOwnRange: Bool

  package init(family: Secret, replicas: Replicas, counter: UInt64, hasOwnRange: Bool) {
    self.family = family
    self.replicas = replicas
    self.counter = counter
    self.hasOwnRange = hasOwnRange
  }
}

/// The creator of a store file with a header, slots, keyring and state, but without rows.
package struct StoreMaker {
  let path: String
  let creation: CreateOptions
  let wait: Duration?
  /// Whether an existing file at `path` may be replaced.
  var replacesExisting = false
  /// A file that's being read and must not be replaced.
  var source: String?
  /// The original that the new store copies, or `nil` if they won't be merged later.
  var heritage: StoreHeritage?

  package init(
    path: String, creation: CreateOptions, wait: Duration?, replacesExisting: Bool = false, source: String? = nil,
    heritage: StoreHeritage? = nil
  ) {
    self.path = path
    self.creation = creation
    self.wait = wait
    self.replacesExisting = replacesExisting
    self.source = source
    self.heritage = heritage
  }

  /// A complete store next to its path, before it's renamed.
  struct Draft {
    let file: StagedFile
    let unlocked: Unlocking.Unlocked
    let keys: SessionKeys
  }

  package func make(_ keys: [NewSlot], allowsTestKeys: Bool) throws(StoreError) -> (Unlocking.Unlocked, SessionKeys) {
    let draft = try draft(try prepare(keys, allowsTestKeys: allowsTestKeys))
    try publish(draft)
    return (draft.unlocked, draft.keys)
  }

  /// Creates a store, and fills it in one transaction before renaming the file.
  ///
  /// - Parameter begin: Called after asking for all keys and before writing.
  /// - Returns: The result of `fill`.
  /// - Throws: Errors from `begin` and `fill`, without leaving files.
  package func make<R>(
    _ keys: [NewSlot], allowsTestKeys: Bool, begin: () throws -> Void, fill: (StoreTransaction) throws -> R
  ) throws -> R {
    try make(keys, options: OpenOptions(), allowsTestKeys: allowsTestKeys, begin: begin) { try $0.write(nil, fill) }
      .result
  }

  /// Creates a store, and runs any number of transactions in `use` before renaming the file.
  package func make<R>(
    _ keys: [NewSlot], options: OpenOptions, allowsTestKeys: Bool, begin: () throws -> Void,
    use: (StoreEngine) throws -> R
  ) throws -> (keys: SessionKeys, result: R) {
    let parts = try prepare(keys, allowsTestKeys: allowsTestKeys)
    try begin()
    let draft = try draft(parts)
    let result: R
    do {
      let file = try StoreFile(at: draft.file.temporary, wait: wait, cacheBytes: StoreFile.readerCache)
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

  private func prepare(_ keys: [NewSlot], allowsTestKeys: Bool) throws(StoreError) -> Parts {
    let (given, isTest) = try given(by: keys, allowsTestKeys: allowsTestKeys)
    return try sealed(given, isTest: isTest)
  }

  /// Asks for the secrets and checks them, so `make` only fails if it can't write the file.
  ///
  /// - Returns: Slots that don't ask for secrets.
  package func asked(_ keys: [NewSlot], allowsTestKeys: Bool) throws(StoreError) -> [NewSlot] {
    let (given, isTest) = try given(by: keys, allowsTestKeys: allowsTestKeys)
    _ = try targets(of: given, isTest: isTest)
    return given.map { NewSlot(owner: .asked($0)) }
  }

  private func given(
    by keys: [NewSlot], allowsTestKeys: Bool
  ) throws(StoreError) -> (keys: [NewSlot.Given], isTest: Bool) {
    try StoreEngine.requireWorkingCipher()
    guard !keys.isEmpty else {
      throw StoreError(.keyNeeded, "a new store needs a key", hint: "give at least one key or recipient")
    }
    try KeySlotRecord.requireRoom(for: keys.count)
    var isTest = creation.isTest || keys.contains(where: \.isKnownTestKey)
    // Check this before asking for secrets, and recheck it in case a secret is a test key.
    try requireAllowance(isTest, allowsTestKeys)
    try StagedFile(path, replacesExisting: replacesExisting, source: source).checkTarget()
    var given: [NewSlot.Given] = []
    for key in keys { given.append(try key.asked()) }
    isTest = isTest || given.contains(where: \.isTest)
    try requireAllowance(isTest, allowsTestKeys)
    return (given, isTest)
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
    let file = StagedFile(path, replacesExisting: replacesExisting, source: source)
    do throws(StoreError) {
      try write(session, parts.slots, to: file)
    } catch {
      file.discard()
      throw error
    }
    return Draft(file: file, unlocked: Unlocking.Unlocked(root: parts.root, slot: 1), keys: session)
  }

  private func targets(of keys: [NewSlot.Given], isTest: Bool) throws(StoreError) -> [SlotTarget] {
    var targets: [SlotTarget] = []
    for key in keys { targets.append(try key.target(isTest: isTest)) }
    try SlotTarget.checkWork(targets)
    try SlotTarget.requireDistinct(targets)
    return targets
  }

  /// Generates the keys and wraps the root key for every slot.
  private func sealed(_ keys: [NewSlot.Given], isTest: Bool) throws(StoreError) -> Parts {
    let targets = try targets(of: keys, isTest: isTest)
    for label in creation.labels { try KeySlotRecord.checkLabel(label) }
    return try translatingErrors { () throws(SealingError) in
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
        keyring: try keyring(epoch).seal(under: root, phase: 1), mac: [])
      header.mac = try HMACKey(root.derive(.headerMAC)).authenticate(header.authenticatedBytes(slots: slots))
      return (root, header, slots)
    }
  }

  private func keyring(_ epoch: EpochKeys) throws(SealingError) -> Keyring {
    let family = if let heritage { heritage.family } else { try Secret.random(byteCount: Keyring.familyByteCount) }
    return Keyring(active: 1, family: family, epochs: [epoch])
  }

  /// Returns the empty store's replicas, including a new replica for the store itself, and the state's lead.
  ///
  /// - Throws: `noNumberLeft`.
  private func replicas() throws(StoreError) -> (replicas: Replicas, lead: UInt64) {
    let (identity, draw) = try translatingErrors { () throws(SealingError) in
      (try UniqueID.random(), try UniqueID.random().low)
    }
    guard let heritage else {
      return (Replicas(own: Replica(identity: identity, counter: 1, range: 0, rose: 1)), 0)
    }
    var replicas = heritage.replicas
    let lead = heritage.counter
    // The commits that make and fill the new store have the next two counters.
    guard lead < UInt64(StoreFormat.maximumGeneration) - 1 else {
      throw StoreError(
        .noNumberLeft, "the store has reached the last counter, so it can't have another editable copy",
        hint: "export it into a new store")
    }
    try replicas.takeIdentity(
      identity, range: heritage.hasOwnRange ? replicas.freeRange(draw) : 0, counter: lead + 1, at: 1)
    return (replicas, lead)
  }

  private func write(_ keys: SessionKeys, _ slots: [KeySlotRecord], to file: StagedFile) throws(StoreError) {
    try file.make()
    let database = try translatingErrors(at: path) { () throws(SQLiteError) in
      let database = try Database(
        file.temporary, mode: .readWrite,
        configuration: .ofStore(wait: wait))
      _ = try database.textPragma("page_size = \(StoreFormat.pageSize)")
      _ = try database.textPragma("encoding = 'UTF-8'")
      try database.setStorePragmas()
      try database.begin(.exclusive)
      _ = try database.textPragma("application_id = \(StoreFormat.applicationID)")
      _ = try database.textPragma("user_version = \(StoreFormat.version)")
      for (_, sql) in Schema.objects { _ = try database.execute(sql) }
      return database
    }
    let rows = StoreDatabase(database)
    try keys.header.insert(rows, slots: slots)
    let (replicas, lead) = try replicas()
    let sealed = try replicas.seal(under: keys.root)
    try rows.execute(SQL.insertReplicas, sealed.sealed)
    let state = StoreState(
      headerMAC: keys.header.mac, nextID: replicas.ownReplica.ids.lowerBound, lead: lead, replicas: sealed.digest)
    try rows.execute(SQL.insertState, try StateCipher(keys).seal(state))
    try translatingErrors(at: path) { () throws(SQLiteError) in
      try database.commit()
      try database.close()
    }
  }
}

extension StoreMaker {
  /// Renames the finished file, unless another file has taken the name, and makes the name durable.
  func publish(_ draft: Draft) throws(StoreError) {
    do throws(StoreError) {
      try setJournal(draft.file.temporary)
      try Cancellation.storing { () throws(StoreError) in try draft.file.publish() }
    } catch {
      draft.file.discard()
      throw error
    }
  }

  /// Sets the journal mode last, so bulk writes go directly into the file instead of a log.
  private func setJournal(_ temporary: String) throws(StoreError) {
    guard creation.journal == .writeAheadLog else { return }
    try translatingErrors(at: path) { () throws(SQLiteError) in
      let database = try Database(
        temporary, configuration: .ofStore(wait: wait))
      try database.setJournalMode("WAL")
      try database.close()
    }
  }
}
