internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import CofferSearch

/// A damaged store, opened as far as possible in one read transaction.
struct SalvageSource {
  let file: SalvageFile
  let keys: SessionKeys
  /// The latest state, or `nil` if it can't be decrypted.
  let state: StoreState?
  /// The family key and replicas that let the new store merge with the old store's copies, or `nil` if the replicas
  /// can't be proved.
  let heritage: StoreHeritage?
  /// The problems found while opening.
  private(set) var problems: [String] = []

  /// Opens a store as in FORMAT, "Opening", but continues after failures in optional steps (FORMAT, "Salvage").
  init(at path: String, key: StoreKey, options: OpenOptions) throws(StoreError) {
    (file, keys, problems) = try Self.open(path, key.remembering(), options)
    let header = keys.header
    if !keys.isHeaderProved { problems.append("its header or its slots are not what was written") }
    state = Self.state(of: file, keys: keys)
    heritage = Self.heritage(of: file, state, keys)
    if let state {
      if keys.isHeaderProved && state.headerMAC != header.mac {
        problems.append("header and state belong to different times: an older one was put back")
      }
      if state.target > 0 { problems.append("its rekey is unfinished: documents were read under old and new keys") }
    } else {
      problems.append("its state can't be opened: nothing tells how many documents there were")
    }
  }

  /// The old store's options. An unverified header is ignored, so it can't enable unencrypted titles.
  var creation: CreateOptions {
    var creation = CreateOptions()
    if keys.isHeaderProved {
      creation.titles = keys.titles
      creation.isPadded = keys.isPadded
    }
    return creation
  }

  /// The maximum plausible counter. A higher counter is forged, because a store never has as many commits.
  private static let maximumCounter = UInt64(StoreFormat.maximumGeneration) / 2

  /// Reads the old store's family key and replicas, or returns `nil` if the replicas can't be proved.
  private static func heritage(
    of file: SalvageFile, _ state: StoreState?, _ keys: SessionKeys
  ) -> StoreHeritage? {
    guard let state, let mark = try? StateCipher(keys).mark(of: state) else { return nil }
    var found: Replicas?
    file.forEachCandidate(in: "coffer_replica", upTo: StoreFormat.maximumSealedReplicas) { sealed in
      found = try? Replicas(sealed, digest: state.replicasDigest, generation: state.generation, under: keys.root)
      return found == nil
    }
    guard var replicas = found else { return nil }
    replicas.noteOwn(
      counter: state.counter, marks: replicas.ownMarks(of: state, mark: mark), at: replicas.ownReplica.rose)
    // Ignore replicas that a key holder forged, because the new store's own counters begin above the state's counter.
    guard state.counter <= Self.maximumCounter, replicas.isConsistent else { return nil }
    return StoreHeritage(
      family: keys.keyring.family, replicas: replicas.copied, counter: state.counter, hasOwnRange: false)
  }

  var database: StoreDatabase { file.database }

  /// The declared indexes. Indexes with an unreadable root are omitted.
  var indexDeclaration: IndexDeclaration {
    var declaration = IndexDeclaration()
    for part in IndexPart.all {
      guard let row = try? IndexTables(database).root(of: part), let keys = try? RowKeys(keys),
        let root = try? IndexRoot(part: part, epoch: row.epoch, sealed: row.sealed, keys),
        let declared = try? IndexDeclaration(root.declaration)
      else { continue }
      declaration.join(declared)
    }
    return declaration
  }

  // MARK: Parts

  /// Opens the file with SQLite, or page by page if the first page is lost.
  private static func open(_ path: String, _ key: StoreKey, _ options: OpenOptions) throws(StoreError)
    -> (SalvageFile, SessionKeys, problems: [String])
  {
    do throws(StoreError) {
      let file = try SalvageFile(at: path, wait: options.wait)
      let (keys, problems) = try unlocked(file, key, options)
      return (file, keys, problems)
    } catch {
      guard error.code == .notAStore || error.code == .damaged,
        let file = try SalvageFile(withoutFirstPageAt: path, wait: options.wait)
      else { throw error }
      let (keys, problems) = try unlocked(file, key, options)
      return (file, keys, file.problems + problems)
    }
  }

  private static func lost(_ what: String) -> StoreError {
    StoreError(
      .damaged, "nothing can be salvaged: \(what) is damaged, and with it the way to every key",
      hint: "restore the store from a backup")
  }

  /// Opens the header from its table, or from a spare copy if the header is damaged.
  ///
  /// If several spare copies have a valid MAC, uses the copy with the latest root key and phase.
  private static func unlocked(_ file: SalvageFile, _ key: StoreKey, _ options: OpenOptions) throws(StoreError)
    -> (SessionKeys, problems: [String])
  {
    var failure = lost("its header")
    var unproved: (SessionKeys, problems: [String])?
    do throws(StoreError) {
      let copy = try header(of: file.database)
      let keys = try unlock(copy, key, options)
      var problems: [String] = []
      if copy.damagedSlots > 0 {
        problems.append("nobody can open \(copy.damagedSlots) of its slots")
      }
      if keys.isHeaderProved { return (keys, problems) }
      unproved = (keys, problems)
    } catch {
      guard [.damaged, .cannotUnlock, .parametersRefused].contains(error.code) else { throw error }
      failure = error
    }
    var proved: [SessionKeys] = []
    for copy in file.spareCopies() {
      do throws(StoreError) {
        let keys = try unlock(copy, key, options)
        if keys.isHeaderProved { proved.append(keys) }
      } catch {
        // Report a wrong key or pin instead of a lost header.
        if failure.code == .damaged { failure = error }
      }
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
    try options.pin?.check(copy.header)
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
        hint:
          "try the key of each slot that \(.info) shows: one sound slot is enough, and a damaged one opens with no key")
    }
    try options.pin?.check(root)
    do throws(StoreError) {
      return try SessionKeys(root: root, header: copy.header, slots: copy.slots, isSalvaging: true)
    } catch {
      guard error.code == .damaged else { throw error }
      throw lost("the keyring in its header")
    }
  }

  /// Reads the header and slots from their tables. Rows that aren't slots are omitted.
  private static func header(of database: StoreDatabase) throws(StoreError) -> HeaderCopy {
    let header: StoreHeader
    do throws(StoreError) {
      let rows = try database.rows(SQL.header, ofAtMost: StoreFormat.headerValueLimit)
      guard rows.count == 1 else { throw lost("its header") }
      header = try StoreHeader(columns: rows[0].values)
    } catch {
      throw error.code == .damaged ? lost("its header") : error
    }
    let rows: [SQLiteRow]
    do throws(StoreError) {
      rows = try database.rows(SQL.slots, ofAtMost: StoreFormat.headerValueLimit)
    } catch {
      throw error.code == .damaged ? lost("the table of its slots") : error
    }
    guard rows.count <= KeySlotRecord.maximumSlots else {
      throw .slotCountRefused
    }
    let slots = rows.compactMap { try? KeySlotRecord(columns: $0.values) }
    let usable = slots.count { (try? $0.fault(isTest: header.isTest)) == nil }
    guard usable > 0 else { throw lost("every slot") }
    return HeaderCopy(header: header, slots: slots, damagedSlots: rows.count - usable)
  }

  /// Returns the latest state that decrypts. A sound file has one state.
  private static func state(of file: SalvageFile, keys: SessionKeys) -> StoreState? {
    guard let cipher = try? StateCipher(keys) else { return nil }
    var latest: StoreState?
    file.forEachCandidate(in: "coffer_state", upTo: StoreState.sealedByteCount) { sealed in
      if let state = try? cipher.open(sealed), latest.map({ $0.generation < state.generation }) ?? true {
        latest = state
      }
      return true
    }
    return latest
  }
}
