internal import CofferDocuments
internal import CofferRecords

extension StoreEngine {
  /// Brings the changes of another store into this one, in one transaction.
  func merge(
    _ other: StoreEngine, by older: StoreEngine? = nil, from theirs: StoreTransaction, _ policy: MergePolicy,
    _ options: MergeOptions,
    _ progress: ProgressHandler?
  ) throws -> MergeReport {
    let result: Result<MergeReport, any Error> = try writing { mine throws(StoreError) in
      let result = Result {
        guard mine.keys.session.keyring.highestCeiling == 0 else {
          throw StoreError(
            .rekeyUnfinished, "\(path) has an unfinished rekey, so nothing can be merged into it",
            hint: "finish it with \(.resumeRekey)")
        }
        let base = try mergeBase(other, by: older, mine, theirs, options)
        guard !base.isUnchanged else { return MergeReport(isMerged: !options.isDryRun) }
        let report = try naming(other) { () throws(StoreError) in
          try StoreMerge(mine, theirs, base, policy, options, progress)
        }.run()
        try other.connections.original?.requireUnchanged()
        return report
      }
      if case .success(let report) = result, report.isMerged { try mine.commit() }
      return result
    }
    return try result.get()
  }
}

extension StoreEngine {
  /// Names the other store in the errors that its rows cause.
  private func naming<R>(_ other: StoreEngine, _ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      guard error.code == .setMismatch || error.code == .damaged else { throw error }
      throw StoreError(
        error.code, "\(other.path): \(error.message)", hint: "verify it, and merge with a sound copy of it",
        documentID: error.documentID)
    }
  }
}

/// One merge, in a write transaction of this store and a read transaction of the other one.
///
/// It writes as it decides: a merge that must change nothing is rolled back by its caller.
final class StoreMerge {
  /// A document of the other store that may have changed there, and its counterpart here.
  final class Pair {
    let theirs: MergeRow
    /// The row here before the merge.
    let mine: MergeRow?
    /// The id here.
    let id: Int64
    var takesContents = false
    /// Only the dates.
    var takesDates = false
    var takesPlace = false
    /// Both sides gave it one place: it stays, and is no change of this store any more.
    var sharesPlace = false

    init(_ theirs: MergeRow, _ mine: MergeRow?, id: Int64) {
      self.theirs = theirs
      self.mine = mine
      self.id = id
    }

    var isNew: Bool { mine == nil }
  }

  let mine: StoreTransaction
  let theirs: StoreTransaction
  let writer: RecordWriter
  let base: MergeBase
  let options: MergeOptions
  private let policy: MergePolicy
  private let progress: ProgressHandler?
  private var entries: [MergeReport.Entry] = []

  private let changes: ChangesThere
  /// The ids of the other store's documents by identity; read when they are needed.
  private var identitiesThere: [UInt64: Int64]?

  // MARK: Collections

  /// The numbers here of the other store's collections.
  var numbers: [UInt32: UInt32] = [:]
  /// The other store's collections that were dropped here.
  var droppedHere: Set<UInt32> = []
  /// Those of them that documents would have come into, and that stay dropped.
  var staysDropped: Set<UInt32> = []
  /// The numbers here of collections that were dropped there.
  var droppedThere: [UInt32] = []
  /// Those of them that go.
  var emptied: [CollectionRecord] = []
  /// The numbers here of collections that have their names from the other store.
  var namedThere: Set<UInt32> = []

  // MARK: Documents

  /// The ids here of the other store's documents.
  var idsHere: [Int64: Int64] = [:]
  /// The ids here of the documents that this store alone gave ids to, by identity; read when they are needed.
  private var identities: [UInt64: Int64]?
  /// Documents of this store that are still to be rewritten; until then their keys may be removed, so that another
  /// document can have them.
  var pending: Set<Int64> = []
  /// Keys that were taken away for the moment.
  var keysTaken: [Int64: ExternalKey] = [:]
  /// Documents that this store keeps although they were deleted there.
  var kept: Set<Int64> = []
  /// Documents that may not be where their children look for them: deleted, in another collection, or back again.
  var departed: Set<Int64> = []
  /// Documents that took the other store's place, by id here.
  var placed: [Int64: Pair] = [:]
  /// Documents that took the other store's contents.
  var contentsThere: Set<Int64> = []
  /// Documents whose parent was deleted in the other store.
  var orphans: Set<Int64> = []
  /// Documents edited on both sides, of which both stay.
  var copies: [Pair] = []
  /// The nearest unmoved predecessor, by document: of the other store's documents and of this one's.
  var anchorsThere: [Int64: Int64] = [:]
  var anchorsHere: [Int64: Int64] = [:]

  init(
    _ mine: StoreTransaction, _ theirs: StoreTransaction, _ base: MergeBase, _ policy: MergePolicy,
    _ options: MergeOptions, _ progress: ProgressHandler?
  ) throws(StoreError) {
    changes = try ChangesThere(theirs, since: base, mine: mine, options)
    self.mine = mine
    self.theirs = theirs
    self.base = base
    self.policy = policy
    self.options = options
    self.progress = progress
    writer = try mine.writer
  }

  func run() throws -> MergeReport {
    try mergeCollections()
    var pairs = try pair(changes)
    for (index, pair) in pairs.enumerated() {
      if index.isMultiple(of: 256) { try progress?(WorkProgress(done: index, total: pairs.count)) }
      try settle(pair)
    }
    try settleDropped(&pairs)
    try write(pairs)
    try addCopies()
    try dropEmptied()
    try checkFamilies()
    try mergeNames()
    try progress?(WorkProgress(done: pairs.count, total: pairs.count, phase: .finishing))
    var report = MergeReport(entries: entries, isMerged: !options.isDryRun)
    if case .fail = policy, entries.contains(where: \.reason.isConflict) { report.isMerged = false }
    // A change that was left out must come with a later merge.
    guard base.relation == .original, !entries.contains(where: { $0.action == .skipped }) else { return report }
    try mine.setOrigin(theirs.origin(as: .editableCopy))
    try writer.reserveIDs(through: mine.state.firstOwnID - 1)
    return report
  }

  // MARK: Decisions

  /// The side that wins a conflict.
  ///
  /// - Parameter withTexts: whether the caller's closure gets the texts too.
  func decide(
    _ reason: MergeReport.Reason, mine id: Int64? = nil, theirs otherID: Int64? = nil, collection: UInt32? = nil,
    withTexts: Bool = false
  ) throws -> MergeChoice {
    switch policy {
    case .fail, .mine: return .mine
    case .theirs: return .theirs
    case .both: return .both
    case .custom(let decide):
      func text(_ id: Int64?, _ transaction: StoreTransaction) throws(StoreError) -> String? {
        guard withTexts, let id else { return nil }
        return try transaction.document(DocumentID(id)).text
      }
      return try decide(
        MergeConflict(
          reason: reason, mine: try id.map { try mine.header(of: DocumentID($0)) },
          theirs: try otherID.map { try theirs.header(of: DocumentID($0)) }, myText: try text(id, mine),
          theirText: try text(otherID, theirs), collection: collection.map { CollectionID($0) }))
    }
  }

  /// The side whose version of equal changes stays, so that both directions of a merge give the same.
  var prefersTheirs: Bool { if case .theirs = policy { true } else { false } }

  func note(
    _ action: MergeReport.Action, _ reason: MergeReport.Reason, id: Int64? = nil, otherID: Int64? = nil,
    collection: UInt32? = nil
  ) {
    entries.append(
      MergeReport.Entry(
        id: id.map { DocumentID($0) }, otherID: otherID.map { DocumentID($0) },
        collection: collection.map { CollectionID($0) }, action: action, reason: reason))
  }

  // MARK: The other store's rows

  /// A row of the other store, with its changes as this store must compare them; nil if it is not there, or if it does not
  /// open and such documents are left out.
  ///
  /// - Throws: `setMismatch` for a row that is missing or has changed, and that the ring does not name.
  func rowThere(_ id: Int64) throws(StoreError) -> MergeRow? {
    var found: MergeRow?
    do throws(StoreError) {
      found = try theirs.mergeRow(id)
    } catch {
      guard error.code == .damaged, options.skipsDamaged else { throw error }
      return nil
    }
    let named = changes.named?[id]
    guard var row = found else {
      guard changes.named != nil, named == nil, let here = try mine.mergeRow(id) else { return nil }
      // It was there when the two met last.
      guard here.stamps.born > base.seenThere else { throw .setMismatch }
      return nil
    }
    if base.isChain {
      try takeChanges(of: &row, named)
    } else if changes.named != nil, named == nil {
      let latest = max(row.stamps.born, row.stamps.edited, row.stamps.placed)
      guard latest <= base.seenHere else { throw .setMismatch }
    }
    return row
  }

  /// Finds changes with stamps of the original's: those that are not this store's, in a row that was written since.
  private func takeChanges(of row: inout MergeRow, _ named: ChangesThere.Named?) throws(StoreError) {
    guard row.fields.revision > base.seenHere else { return }
    if let named, named.inserted > 0 { row.changes.born = max(row.stamps.born, named.inserted) }
    guard let here = try mine.mergeRow(row.id), here.stamps.uid == row.stamps.uid else {
      // The document is new, or was deleted here: a conflict, unless the ring says which.
      return row.changes.edited = max(row.stamps.edited, row.fields.revision)
    }
    if row.stamps.edited != here.stamps.edited { row.changes.edited = max(row.stamps.edited, row.fields.revision) }
    if row.stamps.placed != here.stamps.placed { row.changes.placed = max(row.stamps.placed, row.fields.revision) }
  }

  /// The id there of a document that has another one here; nil if it is not there.
  func idThere(_ uid: UInt64) throws(StoreError) -> Int64? {
    if identitiesThere == nil { identitiesThere = try theirs.identities(from: 1) }
    return identitiesThere?[uid]
  }

  // MARK: Ids

  /// The id here of a document of the other store; nil if it is not here.
  func idHere(_ row: MergeRow) throws(StoreError) -> Int64? {
    if let known = idsHere[row.id] { return known }
    let found: Int64?
    if let here = try mine.mergeRow(row.id), here.stamps.uid == row.stamps.uid {
      found = row.id
    } else {
      found = try identity(row.stamps.uid)
    }
    if let found { idsHere[row.id] = found }
    return found
  }

  func identity(_ uid: UInt64) throws(StoreError) -> Int64? {
    if identities == nil {
      // A copy has the documents that its original made under their ids there.
      let first = base.relation == .original ? Int64(clamping: mine.start.origin.nextID) : 1
      identities = try mine.identities(from: first)
    }
    return identities?[uid]
  }
}
