internal import CofferDocuments
package import CofferEngine
internal import CofferRecords

extension StoreEngine {
  /// Merges another store's changes into this store in one transaction.
  package func merge(
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
  /// Adds the other store's path to errors about its rows.
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

/// A merge with a write transaction in this store and a read transaction in the other store.
///
/// Changes are written immediately, so the caller must roll back a merge that isn't applied.
final class StoreMerge {
  /// A possibly changed document in the other store, and its counterpart in this store.
  final class Pair {
    let theirs: MergeRow
    /// This store's row before the merge.
    let mine: MergeRow?
    /// The ID in this store.
    let id: Int64
    var takesContents = false
    /// Whether to take the dates without the contents.
    var takesDates = false
    var takesPosition = false
    /// Whether both stores made the same move, so it no longer counts as this store's change.
    var sharesPosition = false

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
  /// The IDs of the other store's documents by identity, read on first use.
  private var identitiesThere: [UniqueID: Int64]?

  // MARK: Collections

  /// This store's numbers for the other store's collections.
  var numbers: [UInt32: UInt32] = [:]
  /// The other store's collections that this store dropped.
  var droppedHere: Set<UInt32> = []
  /// The collections in `droppedHere` that the merge would use, but that remain dropped.
  var remainsDropped: Set<UInt32> = []
  /// This store's numbers for collections that the other store dropped.
  var droppedThere: [UInt32] = []
  /// The collections in `droppedThere` to delete at the end of the merge.
  var emptied: [CollectionRecord] = []
  /// This store's numbers for collections named by the other store.
  var namedThere: Set<UInt32> = []

  // MARK: Documents

  /// This store's IDs for the other store's documents.
  var localIDs: [Int64: Int64] = [:]
  /// The IDs of documents that can have a different ID in the other store, by identity. Read on first use.
  private var identities: [UniqueID: Int64]?
  /// Documents still to be rewritten. Their keys can be removed earlier to free them for other documents.
  var pending: Set<Int64> = []
  /// The temporarily removed keys, by document ID.
  var removedKeys: [Int64: DocumentKey] = [:]
  /// Documents that this store keeps although the other store deleted them.
  var kept: Set<Int64> = []
  /// Deleted, inserted or moved documents whose children may need a new parent.
  var departed: Set<Int64> = []
  /// Documents that take the other store's position, by ID in this store.
  var placed: [Int64: Pair] = [:]
  /// Documents that take the other store's contents.
  var contentsThere: Set<Int64> = []
  /// Documents whose parent was deleted in the other store.
  var orphans: Set<Int64> = []
  /// Documents edited in both stores, if both versions are kept.
  var copies: [Pair] = []
  /// The nearest unmoved predecessor of each document, in the other store and in this store.
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
    try resolveDroppedCollections(&pairs)
    try write(pairs)
    try addCopies()
    try deleteEmptiedCollections()
    try checkParents()
    try mergeNames()
    try progress?(WorkProgress(done: pairs.count, total: pairs.count, phase: .finishing))
    var report = MergeReport(entries: entries, isMerged: !options.isDryRun)
    if case .fail = policy, entries.contains(where: \.reason.isConflict) { report.isMerged = false }
    // Keep the base if documents were skipped, so a later merge can apply their changes.
    guard base.relation == .original, !entries.contains(where: { $0.action == .skipped }) else { return report }
    try mine.setOrigin(theirs.origin(as: .editableCopy))
    try writer.reserveIDs(through: mine.state.firstOwnID - 1)
    return report
  }

  // MARK: Decisions

  /// Returns the policy's choice for a conflict, or asks the caller.
  ///
  /// - Parameter withTexts: Whether the caller's closure receives the texts.
  func decide(
    _ reason: MergeReport.Reason, mine id: Int64? = nil, theirs otherID: Int64? = nil, collection: UInt32? = nil,
    withTexts: Bool = false
  ) throws -> MergePolicy.Choice {
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

  /// Whether the other store's version of equal changes is kept, to give both merge directions the same result.
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

  /// Returns the other store's row with its changes, or `nil` if the row is missing, or damaged and skipped.
  ///
  /// - Throws: `setMismatch` if a row is missing or changed, but isn't listed in the ring.
  func rowThere(_ id: Int64) throws(StoreError) -> MergeRow? {
    var found: MergeRow?
    do throws(StoreError) {
      found = try MergeRow.find(id, in: theirs)
    } catch {
      guard error.code == .damaged, options.skipsDamaged else { throw error }
      return nil
    }
    let named = changes.named?[id]
    guard var row = found else {
      guard changes.named != nil, named == nil, let here = try MergeRow.find(id, in: mine) else { return nil }
      // The document existed at the base, so the ring must list its deletion.
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

  /// Applies the row's revision to stamps that differ from this store's, because they can come from the original.
  private func takeChanges(of row: inout MergeRow, _ named: ChangesThere.Named?) throws(StoreError) {
    guard row.fields.revision > base.seenHere else { return }
    if let named, named.inserted > 0 { row.changes.born = max(row.stamps.born, named.inserted) }
    guard let here = try MergeRow.find(row.id, in: mine), here.stamps.uid == row.stamps.uid else {
      // A new document or one deleted here counts as edited, to cause a conflict unless the ring lists it as new.
      return row.changes.edited = max(row.stamps.edited, row.fields.revision)
    }
    if row.stamps.edited != here.stamps.edited { row.changes.edited = max(row.stamps.edited, row.fields.revision) }
    if row.stamps.placed != here.stamps.placed { row.changes.placed = max(row.stamps.placed, row.fields.revision) }
  }

  /// Returns the other store's ID for a document with a different ID here, or `nil` if it isn't there.
  func idThere(_ uid: UniqueID) throws(StoreError) -> Int64? {
    if identitiesThere == nil { identitiesThere = try MergeRow.identities(from: 1, in: theirs) }
    return identitiesThere?[uid]
  }

  // MARK: Ids

  /// Returns this store's ID for the other store's document, or `nil` if it isn't here.
  func idHere(_ row: MergeRow) throws(StoreError) -> Int64? {
    if let known = localIDs[row.id] { return known }
    let found: Int64?
    if let here = try MergeRow.find(row.id, in: mine), here.stamps.uid == row.stamps.uid {
      found = row.id
    } else {
      found = try identity(row.stamps.uid)
    }
    if let found { localIDs[row.id] = found }
    return found
  }

  func identity(_ uid: UniqueID) throws(StoreError) -> Int64? {
    if identities == nil {
      // In a copy, the original's documents have the original's IDs, so search only later IDs.
      let first = base.relation == .original ? Int64(clamping: mine.start.origin.nextID) : 1
      identities = try MergeRow.identities(from: first, in: mine)
    }
    return identities?[uid]
  }
}
