internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords

/// The other store's documents that may have changed or been deleted since this store last saw them.
struct ChangesThere {
  /// The changes to one document, as listed in the ring.
  struct Named {
    /// The last generation that changed the document.
    var last: UInt64 = 0
    var isThere = true
    /// All generations that changed the document. `inserted`, `text` and `place` are the latest of each kind.
    var generations: Set<UInt64> = []
    var inserted: UInt64 = 0
    var text: UInt64 = 0
    var place: UInt64 = 0
  }

  /// The IDs of possibly changed documents in the other store, in ascending order.
  private(set) var present: [Int64] = []
  /// The IDs of this store's documents that are missing from the other store and may have been deleted there.
  private(set) var missing: [Int64] = []
  /// The changes by document ID, or `nil` after a walk, which verifies every row.
  private(set) var named: [Int64: Named]?

  /// Reads the other store's ring if it reaches back to `base`. Otherwise, walks all rows once.
  ///
  /// The ring proves the IDs. If a row's stamps don't match the ring, all rows are walked instead, because an attacker
  /// without a key may have restored an earlier row or copied a row from another branch of the store.
  ///
  /// - Throws: `setMismatch` if the changes can't be proved, or `damaged` if a row fails to decrypt during a walk.
  init(_ theirs: StoreTransaction, since base: MergeBase, mine: StoreTransaction, _ options: MergeOptions)
    throws(StoreError)
  {
    if base.canUseRing, !options.verifiesOther, let changes = theirs.start.ring.changes(after: base.seenHere),
      !changes.contains(where: { $0.changes == .everything }), try readRing(changes, theirs, base, mine)
    {
      return
    }
    (present, missing, named) = ([], [], nil)
    try walk(theirs, base, mine)
  }

  /// Returns `false` if the rows don't match the ring.
  private mutating func readRing(
    _ changes: [(generation: UInt64, changes: RingChanges)], _ theirs: StoreTransaction, _ base: MergeBase,
    _ mine: StoreTransaction
  ) throws(StoreError) -> Bool {
    var found: [Int64: Named] = [:]
    var collections: [UInt32: UInt64] = [:]
    for (generation, changes) in changes {
      guard case .entries(let entries) = changes else { continue }
      for entry in entries {
        if entry.kind == .collection { collections[entry.collection] = generation }
        for id in entry.ranges.joined() { found[id, default: Named()].note(entry.kind, generation) }
      }
    }
    guard try Self.matchRing(collections, theirs, base, mine) else { return false }
    for (id, named) in found.sorted(by: { $0.key < $1.key }) {
      if named.isThere { present.append(id) } else { missing.append(id) }
      do throws(StoreError) {
        let row = try MergeRow.find(id, in: theirs)
        guard named.isThere == (row != nil), row.map({ named.fits($0, base) }) ?? true else { return false }
      } catch {
        // Continue, because the merge reads the damaged row and handles the error.
        guard error.code == .damaged, named.isThere else { throw error }
      }
      // This store can have the document under a different ID, so a walk is required.
      if !named.isThere, named.inserted == 0, try !mine.hasRow(DocumentID(id)), base.relation == .original {
        return false
      }
    }
    named = found
    return true
  }

  /// Returns whether the ring explains every changed or dropped collection of the other store.
  private static func matchRing(
    _ named: [UInt32: UInt64], _ theirs: StoreTransaction, _ base: MergeBase, _ mine: StoreTransaction
  ) throws(StoreError) -> Bool {
    let there = try theirs.collections()
    let areSound = there.allSatisfy { record in
      named[record.id].map { $0 == record.revision } ?? (record.revision <= base.seenHere)
    }
    let (uids, numbers) = (Set(there.map(\.uid)), Set(there.map(\.id)))
    let dropped = try mine.collections().filter { $0.born <= base.seenThere && !uids.contains($0.uid) }
    return areSound && dropped.allSatisfy { named[$0.id] != nil && !numbers.contains($0.id) }
  }

  private mutating func walk(_ theirs: StoreTransaction, _ base: MergeBase, _ mine: StoreTransaction)
    throws(StoreError)
  {
    var ids: [Int64] = []
    ids.reserveCapacity(Int(clamping: theirs.state.count))
    try theirs.requireWhole { row, _ throws(StoreError) in
      ids.append(row.fields.id)
      // In a copy, every row's revision comes from the copy, so all rows count as possibly changed.
      if !base.canUseRing || row.fields.revision > base.seenHere { present.append(row.fields.id) }
    }
    var next = ids.startIndex
    try mine.database.forEachRow(SQL.allIDs, []) { row in
      let id = row.int64(at: 0)
      while next < ids.endIndex, ids[next] < id { next += 1 }
      if next == ids.endIndex || ids[next] != id { missing.append(id) }
      return true
    }
  }
}

extension ChangesThere.Named {
  fileprivate mutating func note(_ kind: RingChanges.Kind, _ generation: UInt64) {
    // Moving a document to another collection is listed as an insertion and a deletion in one generation.
    let changedCollection = kind == .deleted && isThere && inserted == generation
    last = generation
    generations.insert(generation)
    switch kind {
    case .inserted: (isThere, inserted, place) = (true, generation, generation)
    case .textChanged: text = generation
    case .moved: place = generation
    case .deleted: if !changedCollection { isThere = false }
    case .headChanged, .collection: break
    }
  }

  /// Returns whether a row's stamps match these changes. A copy's stamps can come from its original.
  fileprivate func fits(_ row: MergeRow, _ base: MergeBase) -> Bool {
    guard row.fields.revision >= last else { return false }
    guard !base.isChain else { return true }
    let (stamps, seen) = (row.stamps, base.seenHere)
    return [stamps.born, stamps.edited, stamps.placed].allSatisfy { $0 <= seen || generations.contains($0) }
      && stamps.edited >= text && stamps.placed >= place
  }
}

/// The parts of a row that a merge reads without decrypting texts.
struct MergeRow {
  let fields: RowFields
  let position: DocumentPosition
  let stamps: DocumentStamps
  let created: Int64
  let modified: Int64
  /// The stamps to compare. Changes that a copy took from its original have the copy's generation.
  var changes: DocumentStamps

  var id: Int64 { fields.id }
}

extension MergeRow {
  /// Returns a document's row after verifying its head, or `nil` if the document doesn't exist.
  static func find(_ id: Int64, in transaction: StoreTransaction) throws(StoreError) -> MergeRow? {
    do throws(StoreError) {
      return try transaction.reading { reader throws(StoreError) in
        let row = try reader.row(DocumentID(id), withBody: false, within: transaction.limits)
        let head = try reader.opener.openHead(row)
        return MergeRow(
          fields: row.fields, position: DocumentPosition(verified: row.position), stamps: head.stamps,
          created: head.created, modified: head.modified, changes: head.stamps)
      }
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      return nil
    }
  }

  /// Returns the IDs of documents at or after `first`, keyed by the identities that copies share.
  static func identities(from first: Int64, in transaction: StoreTransaction) throws(StoreError) -> [UniqueID: Int64] {
    var ids: [Int64] = []
    try transaction.database.forEachRow(SQL.idsFrom, [first]) { row in
      ids.append(row.int64(at: 0))
      return true
    }
    var known: [UniqueID: Int64] = [:]
    for id in ids { if let row = try find(id, in: transaction) { known[row.stamps.uid] = id } }
    return known
  }
}
