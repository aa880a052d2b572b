internal import CofferSQLite
internal import CofferSealing
public import FoundationEssentials

#if canImport(Glibc)
  internal import Glibc
#endif

extension DocumentStore {
  /// Makes a new store with one slot for each key, and opens it.
  ///
  /// The file is made whole beside its place (mode 0600) and then given its name: a failed or killed one leaves
  /// nothing at `url`. A test key, recipient or identity implies the TEST mark.
  ///
  /// The store that is returned holds the root key, whoever the slots are for: with recipients only, this is the last
  /// time that it opens here.
  ///
  /// - Throws: `alreadyExists`, the path untouched; `keyNeeded` without any key; `testKeyRefused` where test and real
  ///   keys mix or are not allowed.
  public static func create(
    at url: URL, keys: [NewKey], creation: CreateOptions = CreateOptions(), options: OpenOptions = OpenOptions()
  ) throws(StoreError) -> DocumentStore {
    try create(
      at: url, keys: keys, creation: creation, options: options, openedWith: .anyOf(keys.compactMap(\.asStoreKey)))
  }

  static func create(
    at url: URL, keys: [NewKey], creation: CreateOptions, options: OpenOptions, openedWith key: StoreKey
  ) throws(StoreError) -> DocumentStore {
    let maker = StoreMaker(path: url.path, creation: creation, wait: options.wait)
    let (unlocked, session) = try maker.make(keys, allowsTestKeys: options.allowsTestKeys)
    let file = try StoreFile(at: url.path, wait: options.wait, cacheBytes: ConnectionPool.readerCache)
    return try DocumentStore(
      file, unlocked: unlocked, keys: session, key: key, options: options, opening: .created)
  }
}

/// Makes a store file: header, slots, keyring and state of generation 1, without rows.
struct StoreMaker {
  let path: String
  let creation: CreateOptions
  let wait: Duration?

  func make(_ keys: [NewKey], allowsTestKeys: Bool) throws(StoreError) -> (Unlocking.Unlocked, SessionKeys) {
    try DocumentStore.requireSoundCipher()
    guard !keys.isEmpty else { throw StoreError(.keyNeeded, "a new store needs a key") }
    guard keys.count <= KeySlotRecord.maximumSlots else {
      throw StoreError(.invalidArgument, "a store has at most \(KeySlotRecord.maximumSlots) slots")
    }
    let isTest = creation.isTest || keys.contains(where: \.isTestKey)
    if isTest && !allowsTestKeys {
      throw StoreError(
        .testKeyRefused, "a TEST store can be read by anyone: its keys are published",
        hint: "allow it only in tests (--allow-test-keys)")
    }
    try refuseExisting()
    let (root, header, slots, nonces) = try sealed(keys, isTest: isTest)
    let session = try SessionKeys(root: root, header: header, slots: slots)
    let temporary = try temporaryPath(nonces)
    do throws(StoreError) {
      try write(session, slots, to: temporary)
      try publish(temporary)
    } catch {
      for suffix in ["", "-journal", "-wal", "-shm"] { unlink(temporary + suffix) }
      throw error
    }
    return (Unlocking.Unlocked(root: root, slot: 1), session)
  }

  private func refuseExisting() throws(StoreError) {
    var status = stat()
    guard lstat(path, &status) != 0 else {
      throw StoreError(.alreadyExists, "\(path): something stands there already; it was left as it is")
    }
  }

  /// Draws the keys and wraps the root key for everyone.
  private func sealed(_ keys: [NewKey], isTest: Bool) throws(StoreError) -> (
    RootKey, StoreHeader, [KeySlotRecord], RandomBytes
  ) {
    var targets: [SlotTarget] = []
    for key in keys { targets.append(try key.target(isTest: isTest)) }
    try Self.checkWork(targets)
    for label in creation.labels { try KeySlotRecord.checkLabel(label) }
    return try sealing { () throws(SealingError) in
      let nonces = try RandomBytes()
      let storeID = try nonces.draw(StoreFormat.storeIDCount)
      let root = try RootKey.random(storeID: storeID)
      let epoch = try EpochKeys.random(epoch: 1, storeID: storeID)
      var slots: [KeySlotRecord] = []
      for (index, target) in targets.enumerated() {
        let derived = try KeySlotRecord.derive(for: target, storeID: storeID, nonces: nonces)
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
        compatible: 0, titles: creation.titles.rawValue, rootGeneration: 1, commitment: try root.commitment(),
        keyring: try Keyring(active: 1, epochs: [epoch]).seal(under: root, generation: 1, nonces: nonces), mac: [])
      header.mac = try HMACKey(root.derive(.headerMAC)).authenticate(header.authenticatedBytes(slots: slots))
      return (root, header, slots, nonces)
    }
  }

  /// A writer refuses what a reader would: more scrypt than all slots together may ask for.
  static func checkWork(_ targets: [SlotTarget], beside slots: [KeySlotRecord] = []) throws(StoreError) {
    var work: UInt64 = 0
    for target in targets {
      if case .passphrase(_, let cost) = target { work += cost.work }
    }
    for slot in slots where slot.kind == 1 && slot.parameters.count > 2 {
      work += ScryptCost(logN: slot.parameters[0], r: slot.parameters[1], p: slot.parameters[2]).work
    }
    guard work <= ScryptCost.maximumTotalWork else {
      throw StoreError(
        .invalidArgument, "too many passphrase slots: opening would try scrypt more often than it may",
        hint: "give key files or recipients to some")
    }
  }

  private func temporaryPath(_ nonces: RandomBytes) throws(StoreError) -> String {
    let mark = try sealing { () throws(SealingError) in try nonces.draw(8) }
    let url = URL(filePath: path)
    return url.deletingLastPathComponent().appending(path: ".\(url.lastPathComponent).\(hex(mark)).new").path
  }

  private func write(_ keys: SessionKeys, _ slots: [KeySlotRecord], to temporary: String) throws(StoreError) {
    let database: Database
    do throws(SQLiteError) {
      let descriptor = Glibc.open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw SQLiteError(.cantOpen, String(cString: strerror(errno)))
      }
      // Nobody else has this file open, so closing it drops no locks.
      Glibc.close(descriptor)
      database = try Database(
        temporary, mode: .readWrite,
        configuration: .init(busyTimeout: wait, isHardened: true, enforcesForeignKeys: false))
      _ = try database.textPragma("page_size = \(StoreFormat.pageSize)")
      _ = try database.textPragma("encoding = 'UTF-8'")
      _ = try database.textPragma("secure_delete = ON")
      _ = try database.textPragma("temp_store = MEMORY")
      _ = try database.textPragma("synchronous = EXTRA")
      try database.begin(.exclusive)
      _ = try database.textPragma("application_id = \(StoreFormat.applicationID)")
      _ = try database.textPragma("user_version = \(StoreFormat.version)")
      for (_, sql) in Schema.objects { _ = try database.execute(sql) }
    } catch {
      throw StoreError(error, path: path)
    }
    try keys.header.insert(database)
    for slot in slots { try slot.insert(database) }
    let state = StoreState(headerMAC: keys.header.mac)
    let sealed = try sealing { () throws(SealingError) in
      try XAESKey(keys.stateKey).seal(state.bytes, authenticating: keys.stateBinding, nonces: RandomBytes())
    }
    do throws(SQLiteError) {
      _ = try database.execute(SQL.insertState, sealed)
      try database.commit()
      if creation.journal == .writeAheadLog { _ = try database.textPragma("journal_mode = WAL") }
      try database.close()
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Gives the finished file its name, unless something took it meanwhile, and makes the name durable.
  private func publish(_ temporary: String) throws(StoreError) {
    if link(temporary, path) == 0 {
      unlink(temporary)
    } else {
      if errno == EEXIST { try refuseExisting() }
      // A file system without hard links: take the name with an empty file, then put the store in its place.
      let placeholder = Glibc.open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
      guard placeholder >= 0 else {
        if errno == EEXIST { try refuseExisting() }
        throw StoreError(.ioFailure, "\(path): \(String(cString: strerror(errno)))")
      }
      Glibc.close(placeholder)
      guard rename(temporary, path) == 0 else {
        let reason = String(cString: strerror(errno))
        unlink(path)
        throw StoreError(.ioFailure, "\(path): \(reason)")
      }
    }
    let directory = Glibc.open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if directory >= 0 {
      fsync(directory)
      Glibc.close(directory)
    }
  }
}

extension KeySlotRecord {
  static func checkLabel(_ label: String) throws(StoreError) {
    guard label.utf8.count <= maximumLabel else {
      throw StoreError(.tooLarge, "a label has at most \(maximumLabel) bytes")
    }
  }
}
