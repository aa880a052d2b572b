internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

#if canImport(Glibc)
  internal import Glibc
#endif

/// A damaged store, open for reading as far as possible, in one read transaction.
struct SalvageSource {
  let database: StoreDatabase
  let keys: SessionKeys
  /// Nil if no state can be opened.
  let state: StoreState?
  /// Problems found while opening.
  private(set) var problems: [String] = []

  /// Follows FORMAT, "Opening", and continues past failed steps that it can do without (FORMAT, "Salvage").
  init(at path: String, key: StoreKey, options: OpenOptions) throws(StoreError) {
    let file = try StoreFile(salvaging: path, wait: options.wait)
    database = file.database
    (keys, problems) = try Self.unlocked(database, key.remembering(), options)
    let header = keys.header
    if !keys.isHeaderProved { problems.append("its header or its slots are not what was written") }
    state = Self.state(of: database, keys: keys)
    if let state {
      if keys.isHeaderProved && state.headerMAC != header.mac {
        problems.append("header and state belong to different times: an older one was put back")
      }
      if state.target > 0 { problems.append("its rekey is unfinished: documents were read under old and new keys") }
    } else {
      problems.append("its state can't be opened: nothing tells how many documents there were")
    }
  }

  /// The options of the old store; but a header that is not verified can't switch to clear titles.
  var creation: CreateOptions {
    var creation = CreateOptions()
    if keys.isHeaderProved {
      creation.titles = keys.titles
      creation.isPadded = keys.isPadded
    }
    return creation
  }

  func origin(of state: StoreState) throws(StoreError) -> StoreOrigin {
    StoreOrigin(state, keys, mark: try StateCipher(keys).mark(of: state), as: .export)
  }

  // MARK: Parts

  private static func lost(_ what: String) -> StoreError {
    StoreError(
      .damaged, "nothing can be salvaged: \(what) is damaged, and with it the way to every key",
      hint: "restore the store from a backup")
  }

  /// Opens the header of the table, or a spare copy of it where that is damaged.
  ///
  /// Of several spare copies that their MAC proves, the one of the latest root key and phase is taken.
  private static func unlocked(_ database: StoreDatabase, _ key: StoreKey, _ options: OpenOptions) throws(StoreError)
    -> (SessionKeys, problems: [String])
  {
    var failure = lost("its header")
    var unproved: (SessionKeys, problems: [String])?
    do throws(StoreError) {
      let copy = try header(of: database)
      let keys = try unlock(copy, key, options)
      var problems: [String] = []
      if copy.damagedSlots > 0 {
        problems.append("\(copy.damagedSlots) of its slots can't be used: what they say is out of bounds")
      }
      if keys.isHeaderProved { return (keys, problems) }
      unproved = (keys, problems)
    } catch {
      guard error.code == .damaged || error.code == .cannotUnlock else { throw error }
      failure = error
    }
    var proved: [SessionKeys] = []
    for copy in spareCopies(of: database) {
      if let keys = try? unlock(copy, key, options), keys.isHeaderProved { proved.append(keys) }
    }
    let latest = proved.max { one, other in
      (one.header.rootGeneration, one.header.phase) < (other.header.rootGeneration, other.header.phase)
    }
    if let latest {
      return (latest, ["its header or its slots are damaged: their spare copy was read instead"])
    }
    guard let unproved else { throw failure }
    return unproved
  }

  private static func unlock(_ copy: HeaderCopy, _ key: StoreKey, _ options: OpenOptions) throws(StoreError)
    -> SessionKeys
  {
    if let pin = options.expectedPin { try StorePin(pin).check(copy.header) }
    let unlocking = Unlocking(
      header: copy.header, slots: copy.slots, named: options.slot.map { UInt32(clamping: $0) },
      allowsTestKeys: options.allowsTestKeys)
    try unlocking.checkBounds()
    let root: RootKey
    do throws(StoreError) {
      root = try unlocking.unlock(with: key).root
    } catch {
      guard error.code == .cannotUnlock else { throw error }
      throw StoreError(
        .cannotUnlock, error.message,
        hint: "try the key of each slot that info shows: one sound slot is enough, and a damaged one opens with no key")
    }
    if let pin = options.expectedPin { try StorePin(pin).check(root) }
    do throws(StoreError) {
      return try SessionKeys(root: root, header: copy.header, slots: copy.slots, isSalvaging: true)
    } catch {
      guard error.code == .damaged else { throw error }
      throw lost("the keyring in its header")
    }
  }

  /// Header and slots of their tables; no slot costs more than its bounds allow, whatever the others are.
  private static func header(of database: StoreDatabase) throws(StoreError) -> HeaderCopy {
    let header: StoreHeader
    do throws(StoreError) {
      let rows = try database.rows(SQL.header)
      guard rows.count == 1 else { throw lost("its header") }
      header = try StoreHeader(columns: rows[0].values)
    } catch {
      throw error.code == .damaged ? lost("its header") : error
    }
    let rows: [SQLiteRow]
    do throws(StoreError) {
      rows = try database.rows(SQL.slots)
    } catch {
      throw error.code == .damaged ? lost("the table of its slots") : error
    }
    guard rows.count <= KeySlotRecord.maximumSlots else {
      throw .slotCountRefused
    }
    var sound: [KeySlotRecord] = []
    for row in rows {
      guard let slot = try? KeySlotRecord(columns: row.values) else { continue }
      do throws(StoreError) {
        _ = try slot.checkedParameters(isTest: header.isTest)
        sound.append(slot)
      } catch {}
    }
    guard !sound.isEmpty else { throw lost("every slot") }
    return HeaderCopy(header: header, slots: sound, damagedSlots: rows.count - sound.count)
  }

  /// The spare copies in their table, and on pages to which no other leads any more.
  private static func spareCopies(of database: StoreDatabase) -> [HeaderCopy] {
    var copies: [HeaderCopy] = []
    for row in (try? database.rows(SQL.spare)) ?? [] {
      if case .blob(let bytes) = row[0], let copy = bytes.withBytes({ HeaderCopy(spare: $0) }) { copies.append(copy) }
    }
    guard copies.isEmpty, let reader = try? database.run({ database throws(SQLiteError) in try LeafReader(database) })
    else { return copies }
    let record = LeafRecord()
    reader.visitRows(ofPages: reader.pages) { _, columnCount, place in
      guard columnCount == 2, copies.count < spareLimit, reader.read(place, into: record, limit: 320 << 10),
        record.columns.count == 2, record.columns[1].storageClass == .blob,
        let copy = HeaderCopy(spare: record.columns[1].bytes)
      else { return }
      copies.append(copy)
    }
    return copies
  }

  /// The most spare copies that are tried; a sound file has one.
  private static let spareLimit = 16

  private static func state(of database: StoreDatabase, keys: SessionKeys) -> StoreState? {
    guard let rows = try? database.rows(SQL.state), rows.count == 1, case .blob(let sealed) = rows[0][0] else {
      return nil
    }
    return try? StateCipher(keys).open(sealed)
  }
}

extension StoreFile {
  /// Opens a file that may be damaged, for reading only.
  ///
  /// SQLite is configured to continue with an incomplete schema and a file shorter than its header says, and to use the
  /// rest of a page whose cells don't add up. That is safe here: it writes nothing, no SQL from the file runs, and its
  /// results are verified afterwards.
  init(salvaging path: String, wait: Duration?) throws(StoreError) {
    var status = stat()
    let hasLog = try stat(FilePlace(of: path).path + "-wal", &status) == 0 && status.st_size > 0
    let database = try Self.connect(to: path, wait: wait)
    try Self.checkFirstPage(database, path: path)
    do throws(SQLiteError) {
      // A log stays unchanged: copying it into a damaged file could make the damage worse.
      if hasLog { try database.set(.noCheckpointOnClose, to: true) }
      try database.set(.defensive, to: false)
      for pragma in [
        "writable_schema = ON", "query_only = ON", "cell_size_check = OFF", "temp_store = MEMORY",
        "cache_size = -\(ConnectionPool.readerCache / 1024)",
      ] { _ = try database.textPragma(pragma) }
      try database.begin(.deferred)
    } catch {
      throw StoreError(error, path: path)
    }
    do throws(StoreError) {
      try Schema.requireTables(
        ["coffer_record", "coffer_body"], in: StoreDatabase(database))
    } catch {
      guard error.code == .damaged || error.code == .notAStore else { throw error }
      throw StoreError(
        .damaged, "nothing can be salvaged: the list of its tables, on the file's first pages, is damaged",
        hint: "restore the store from a backup")
    }
    self.init(path: path, database: StoreDatabase(database), isWriteAhead: false)
  }
}
