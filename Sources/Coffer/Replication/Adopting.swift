internal import CofferRecords
internal import CofferSQLite
internal import FoundationEssentials

#if canImport(Glibc)
  internal import Glibc
#endif

/// One adoption of a followed file into a folder of copies.
struct Adopting {
  /// The time between two tries, in microseconds.
  private static let pause: UInt32 = 200_000

  let folder: String
  let followed: String
  let key: StoreKey
  let anchor: Anchor?
  let options: AdoptOptions

  /// A copy that is in the folder.
  private struct Current {
    let name: String
    let store: StoreEngine
    let anchor: Anchor
    let epochs: [UInt32]
    let isRekeying: Bool
  }

  func run() throws(StoreError) -> Adoption {
    let lock = try FolderLock(folder, wait: options.wait)
    defer { lock.end() }
    let copies = try ReplicaCopies(folder)
    let current = try copies.latest.map { name throws(StoreError) in try open(current: name) }
    defer { if let current { try? current.store.connections.close() } }
    let deadline = ContinuousClock.now + options.wait
    while true {
      do throws(StoreError) {
        if let current, copies.isLinked, try hasState(of: current.name) { return .unchanged(try describe(current)) }
        return .adopted(try adopt(after: current, in: copies))
      } catch {
        guard error.code == .damaged || error.code == .setMismatch || error.code == .locked,
          ContinuousClock.now < deadline
        else { throw Self.notAdopted(error, followed) }
      }
      try Cancellation.checkCurrent()
      usleep(Self.pause)
    }
  }

  private static func notAdopted(_ error: StoreError, _ followed: String) -> StoreError {
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

  /// Whether the followed file has the sealed state of a copy: each commit seals it with another nonce.
  private func hasState(of name: String) throws(StoreError) -> Bool {
    func state(_ path: String) throws(StoreError) -> [UInt8]? {
      try StoreFile.reading(path, options.wait) { file throws(StoreError) in
        let rows = try file.database.rows(SQL.state)
        guard rows.count == 1, case .blob(let sealed) = rows[0][0] else { return nil }
        return sealed
      }
    }
    guard let followedState = try state(followed) else { return false }
    return try state(folder + "/" + name) == followedState
  }

  /// The current copy, compared with the anchor: a replication that has stopped must not look healthy.
  private func describe(_ current: Current) throws(StoreError) -> AdoptedCopy {
    try current.store.reading { transaction throws(StoreError) in
      if let pin = options.expectedPin {
        try StorePin(pin).check(transaction.keys.session, transaction.state, acceptsUnfinished: false)
      }
      return AdoptedCopy(
        url: URL(filePath: folder + "/" + current.name), generation: transaction.state.generation,
        documents: Int(transaction.state.count), anchor: current.anchor.line,
        check: try compare(anchor, with: transaction, of: current.store))
    }
  }

  // MARK: A new copy

  private func adopt(after current: Current?, in copies: ReplicaCopies) throws(StoreError) -> AdoptedCopy {
    let name = try copies.nextName
    let path = folder + "/" + name
    let file = try StagedFile(path)
    var adopted: AdoptedCopy?
    try file.discardingOnError { () throws(StoreError) in
      try file.checkPlace()
      try file.makeCopy(ofStoreAt: followed, options.wait, nil)
      try useRollbackJournal(file.temporary)
      adopted = try verified(file, as: path, after: current)
      // Readers must not write: their changes would be lost with the next copy.
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
    do throws(SQLiteError) {
      let database = try Database(
        path, mode: .readWrite,
        configuration: .init(busyTimeout: options.wait, isHardened: true, enforcesForeignKeys: false))
      _ = try database.textPragma("journal_mode = DELETE")
      try database.close()
    } catch {
      throw StoreError(error)
    }
  }

  private func verified(_ file: StagedFile, as path: String, after current: Current?) throws(StoreError) -> AdoptedCopy
  {
    let store = try engine(at: file.temporary, expecting: options.expectedPin)
    defer { try? store.connections.close() }
    let (copy, depth) = try store.reading { transaction throws(StoreError) -> (AdoptedCopy, VerifyDepth) in
      let check = try compare(anchor, with: transaction, of: store)
      if let current, try !expectsBranch(after: current) {
        try require(transaction, of: store, after: current)
      }
      let copy = AdoptedCopy(
        url: URL(filePath: path), generation: transaction.state.generation, documents: Int(transaction.state.count),
        anchor: try transaction.anchor().line, check: check)
      return (copy, verifyDepth(for: transaction, after: current))
    }
    let verdict = try store.verify(depth, anchor: nil, [], progress: nil)
    if let error = verdict.error { throw error }
    return copy
  }

  /// Requires that the copy is from the history of the current one, and not older.
  private func require(_ transaction: StoreTransaction, of store: StoreEngine, after current: Current)
    throws(StoreError)
  {
    let demands = options.anchorOptions.subtracting(.exact)
    guard case .failure(let fault) = try store.compared(current.anchor, with: transaction, demands) else { return }
    let hint: ErrorHint =
      "if the store was promoted or rekeyed, expect its new pin; otherwise restore the followed file again"
    switch fault {
    case .older:
      throw StoreError(
        .rolledBack,
        "it is older than the current copy \(current.name): generation \(transaction.state.generation), the copy has \(current.anchor.generation)",
        hint: hint)
    case .otherStore: throw StoreError(.anchorMismatch, "it is another store than the current copy \(current.name)")
    case .newerRootKey, .otherRootKey:
      throw StoreError(.anchorMismatch, "it has another root key than the current copy \(current.name)", hint: hint)
    case .forked, .newer, .unproved:
      throw StoreError(
        .anchorMismatch, "it is not known to descend from the current copy \(current.name)", hint: hint)
    }
  }

  /// Whether the expected pin names a later phase or root key than the current copy has: the operator has decided that the
  /// store's branch is that one.
  private func expectsBranch(after current: Current) throws(StoreError) -> Bool {
    guard let line = options.expectedPin else { return false }
    let (pin, before) = (try StorePin(line), current.anchor.pin)
    return pin.storeID == before.storeID && (pin.rootGeneration, pin.phase) > (before.rootGeneration, before.phase)
  }

  /// Set hash and structure don't cover the sealed texts, which show their damage when they are opened.
  private func verifyDepth(for transaction: StoreTransaction, after current: Current?) -> VerifyDepth {
    guard let current, options.opensChangedOnly, !current.isRekeying, transaction.state.target == 0,
      current.epochs == transaction.keys.epochs.map(\.epoch),
      current.anchor.pin == StorePin(transaction.keys.session.header)
    else { return .full }
    return .changed(since: current.anchor.generation)
  }

  // MARK: Helpers

  private func engine(at path: String, expecting pin: String?) throws(StoreError) -> StoreEngine {
    var opening = OpenOptions()
    opening.isReadOnly = true
    opening.allowsTestKeys = options.allowsTestKeys
    opening.expectedPin = pin
    opening.textCacheBytes = 0
    opening.wait = options.wait
    return try StoreEngine(at: path, key: key, options: opening)
  }

  private func compare(_ anchor: Anchor?, with transaction: StoreTransaction, of store: StoreEngine)
    throws(StoreError) -> AnchorCheck?
  {
    guard let anchor else { return nil }
    return try store.compare(anchor, with: transaction, options.anchorOptions)
  }
}
