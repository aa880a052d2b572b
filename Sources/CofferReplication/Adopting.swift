internal import Coffer
internal import CofferEngine
internal import CofferFoundation
internal import CofferPlatform
internal import CofferRecords
internal import CofferSQLite
internal import CofferSearch

/// An adoption of a followed file into a folder of copies.
struct Adopting {
  /// The time between attempts, in microseconds.
  private static let pause: UInt32 = 200_000

  let folder: String
  let followed: String
  let key: StoreKey
  let anchor: StoreAnchor?
  let options: AdoptOptions

  /// The folder's current copy.
  private struct Current {
    let name: String
    let store: StoreEngine
    let anchor: StoreAnchor
    let epochs: [UInt32]
    let isRekeying: Bool
  }

  func run() throws(StoreError) -> Adoption {
    let lock = try FolderLock(folder, wait: options.wait)
    defer { lock.end() }
    let copies = try ReplicaCopies(folder)
    let current = try copies.latest.map { name throws(StoreError) in try open(current: name) }
    defer { if let current { try? current.store.connections.close() } }
    // Finish an adoption that ended before its last step, because the link can only lag behind by one copy.
    if let current, !copies.isLinked { try copies.switchLink(to: current.name) }
    let deadline = ContinuousClock.now + options.wait
    while true {
      do throws(StoreError) {
        if let current, try hasState(of: current.name) { return .unchanged(try describe(current)) }
        return .adopted(try adopt(after: current, in: copies))
      } catch {
        guard error.code == .damaged || error.code == .setMismatch || error.code == .locked,
          ContinuousClock.now < deadline
        else { throw Self.adoptionFailure(error, followed) }
      }
      try Cancellation.checkCurrent()
      usleep(Self.pause)
    }
  }

  private static func adoptionFailure(_ error: StoreError, _ followed: String) -> StoreError {
    switch error.code {
    case .damaged, .setMismatch:
      StoreError(
        error.code, "\(followed) was not adopted: \(error.message)",
        hint: "if its replication was killed, delete the file and restore it again", documentID: error.documentID)
    case .rolledBack, .anchorMismatch, .pinMismatch:
      StoreError(error.code, "\(followed) was not adopted: \(error.message)", hint: error.advice)
    default: error
    }
  }

  // MARK: The current copy

  private func open(current name: String) throws(StoreError) -> Current {
    let path = folder + "/" + name
    do throws(StoreError) {
      let store = try engine(at: path, expecting: nil)
      return try store.reading { transaction throws(StoreError) in
        Current(
          name: name, store: store, anchor: try transaction.anchor(), epochs: transaction.keys.epochs.map(\.epoch),
          isRekeying: transaction.state.target != 0)
      }
    } catch {
      switch error.code {
      case .cannotUnlock:
        throw StoreError(
          .anchorMismatch,
          "the current copy \(path) opens with none of these keys, so that nothing can be compared with it",
          hint: "after a rekey give the old key too, once; or delete the old copies and the link")
      case .damaged, .notAStore, .rolledBack, .otherFormat, .unsafeFile:
        throw StoreError(
          .alreadyExists,
          "the current copy \(path) is not sound, so that nothing can be compared with it: \(error.message)",
          hint: "delete it and the link; the newest of the other copies counts then")
      default: throw error
      }
    }
  }

  /// Returns whether the followed file has a copy's sealed state. Each commit seals the state with a new nonce.
  private func hasState(of name: String) throws(StoreError) -> Bool {
    func state(_ path: String) throws(StoreError) -> [UInt8]? {
      try StoreFile.reading(path, options.wait) { file throws(StoreError) in
        let rows = try file.database.rows(SQL.state, ofAtMost: StoreFormat.headerValueLimit)
        guard rows.count == 1, case .blob(let sealed) = rows[0][0] else { return nil }
        return sealed
      }
    }
    guard let followedState = try state(followed) else { return false }
    return try state(folder + "/" + name) == followedState
  }

  /// Returns the current copy after comparing it with the anchor, so a stopped replication doesn't look healthy.
  private func describe(_ current: Current) throws(StoreError) -> Adoption.Copy {
    try current.store.reading { transaction throws(StoreError) in
      try options.pin?.check(transaction.keys.session, transaction.state, acceptsUnfinished: false)
      return Adoption.Copy(
        url: URL(filePath: folder + "/" + current.name), generation: transaction.state.generation,
        documents: Int(transaction.state.count), anchor: current.anchor,
        relation: try relation(of: transaction, in: current.store))
    }
  }

  // MARK: A new copy

  private func adopt(after current: Current?, in copies: ReplicaCopies) throws(StoreError) -> Adoption.Copy {
    let name = try copies.nextName
    let path = folder + "/" + name
    let file = StagedFile(path)
    var adopted: Adoption.Copy?
    try file.discardingOnError { () throws(StoreError) in
      try file.checkTarget()
      try file.makeCopy(ofStoreAt: followed, options.wait, nil)
      try useRollbackJournal(file.temporary)
      adopted = try verified(file, as: path, after: current)
      // Make the copy read-only, because the next copy would discard readers' changes.
      let readers = current.flatMap { StagedFile.permissions(of: folder + "/" + $0.name) } ?? 0o400
      try file.finishCopy(permissions: readers & 0o444)
      try file.publish()
    }
    guard let adopted else { preconditionFailure("internal error: a copy was neither adopted nor refused") }
    try copies.switchLink(to: name)
    copies.removeOldest(keeping: max(1, options.keptCopies))
    return adopted
  }

  private func useRollbackJournal(_ path: String) throws(StoreError) {
    try translatingErrors { () throws(SQLiteError) in
      let database = try Database(
        path, mode: .readWrite,
        configuration: .ofStore(wait: options.wait))
      try database.setJournalMode("DELETE")
      try database.close()
    }
  }

  private func verified(_ file: StagedFile, as path: String, after current: Current?) throws(StoreError)
    -> Adoption.Copy
  {
    let store = try engine(at: file.temporary, expecting: options.pin)
    defer { try? store.connections.close() }
    let (copy, depth) = try store.reading { transaction throws(StoreError) -> (Adoption.Copy, Verdict.Depth) in
      let relation = try relation(of: transaction, in: store)
      if let current, !expectsNewBranch(after: current) {
        try require(transaction, of: store, after: current)
      }
      let copy = Adoption.Copy(
        url: URL(filePath: path), generation: transaction.state.generation, documents: Int(transaction.state.count),
        anchor: try transaction.anchor(), relation: relation)
      return (copy, verifyDepth(for: transaction, after: current))
    }
    let verdict = try store.verify(depth, against: nil, progress: nil) { transaction throws(StoreError) in
      try StoreIndexes(transaction).problems()
    }
    if let error = verdict.error { throw error }
    return copy
  }

  /// Verifies that the copy descends from the current copy and isn't older.
  private func require(_ transaction: StoreTransaction, of store: StoreEngine, after current: Current)
    throws(StoreError)
  {
    let compared = try store.compared(
      current.anchor, with: transaction,
      requiring: options.requirement == .same ? .sameOrNewer : options.requirement,
      allowingRekey: options.allowsRekey)
    guard case .failure(let fault) = compared else { return }
    let hint: ErrorHint =
      "if the store was promoted or rekeyed, expect its new pin; otherwise restore the followed file again"
    switch fault {
    case .older:
      let comparison = current.anchor.comparison(with: transaction.state, naming: "the copy")
      throw StoreError(
        .rolledBack, "it is older than the current copy \(current.name): \(comparison)", hint: hint)
    case .otherStore: throw StoreError(.anchorMismatch, "it is another store than the current copy \(current.name)")
    case .newerRootKey, .otherRootKey:
      throw StoreError(.anchorMismatch, "it has another root key than the current copy \(current.name)", hint: hint)
    case .forked, .newer, .unproved:
      throw StoreError(
        .anchorMismatch, "it is not known to descend from the current copy \(current.name)", hint: hint)
    }
  }

  /// Returns whether the expected pin has a later phase or root key than the current copy, which means that the
  /// operator has chosen the new branch.
  private func expectsNewBranch(after current: Current) -> Bool {
    guard let pin = options.pin else { return false }
    let before = current.anchor.pin
    return pin.storeID == before.storeID && (pin.rootGeneration, pin.phase) > (before.rootGeneration, before.phase)
  }

  /// Returns the verification depth. Damaged texts are only found by opening them, because the set hash and structure
  /// don't cover sealed texts.
  private func verifyDepth(for transaction: StoreTransaction, after current: Current?) -> Verdict.Depth {
    guard let current, options.opensChangedOnly, !current.isRekeying, transaction.state.target == 0,
      current.epochs == transaction.keys.epochs.map(\.epoch),
      current.anchor.pin == StorePin(transaction.keys.session.header)
    else { return .full }
    return .changed(since: current.anchor.generation)
  }

  // MARK: Helpers

  private func engine(at path: String, expecting pin: StorePin?) throws(StoreError) -> StoreEngine {
    var opening = OpenOptions()
    opening.isReadOnly = true
    opening.allowsTestKeys = options.allowsTestKeys
    opening.pin = pin
    opening.textCacheBytes = 0
    opening.wait = options.wait
    return try StoreEngine(at: path, key: key, options: opening)
  }

  /// Returns a transaction's relation to the given anchor, or `nil` without an anchor.
  private func relation(of transaction: StoreTransaction, in store: StoreEngine) throws(StoreError)
    -> StoreAnchor.Relation?
  {
    guard let anchor else { return nil }
    return try store.relation(
      of: transaction, to: anchor, requiring: options.requirement, allowingRekey: options.allowsRekey)
  }
}
