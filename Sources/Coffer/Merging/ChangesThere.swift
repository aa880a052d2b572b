internal import CofferDocuments
internal import CofferRecords

/// The documents of the other store that may have changed since this one saw it last, and those that were deleted there.
struct ChangesThere {
  /// In the other store, by id.
  private(set) var present: [Int64] = []
  /// The ids of this store's documents that are not in the other store, and may have been deleted there.
  private(set) var missing: [Int64] = []

  /// Reads the ring of the other store if that reaches back to `base`; otherwise walks all of its rows once.
  ///
  /// - Throws: `setMismatch` if neither proves the changes; `damaged` for a row that does not open in a walk.
  init(_ theirs: StoreTransaction, since base: MergeBase, mine: StoreTransaction) throws(StoreError) {
    if base.mayUseRing, let changes = theirs.start.ring.changes(after: base.seenHere),
      !changes.contains(where: { $0.changes == .everything })
    {
      try readRing(changes, theirs)
    } else {
      try walk(theirs, base, mine)
    }
  }

  /// The last generation that the ring names for a document, and whether it was there then.
  private struct Last {
    let generation: UInt64
    let isThere: Bool
  }

  private mutating func readRing(
    _ changes: [(generation: UInt64, changes: RingChanges)], _ theirs: StoreTransaction
  ) throws(StoreError) {
    var last: [Int64: Last] = [:]
    for (generation, changes) in changes {
      guard case .entries(let entries) = changes else { continue }
      // A document that went into another collection is deleted in one and inserted in the other.
      let isDeletion = entries.map { $0.kind == .deleted }
      for pass in [true, false] {
        for (entry, isDeletion) in zip(entries, isDeletion) where isDeletion == pass && entry.kind != .collection {
          for id in entry.ranges.joined() { last[id] = Last(generation: generation, isThere: !isDeletion) }
        }
      }
    }
    for (id, last) in last.sorted(by: { $0.key < $1.key }) {
      if last.isThere { present.append(id) } else { missing.append(id) }
      let revision: UInt64?
      do throws(StoreError) {
        revision = try theirs.fieldsIfThere(of: DocumentID(id))?.revision
      } catch {
        // The merge finds the damaged row again, and decides.
        guard error.code == .damaged, last.isThere else { throw error }
        continue
      }
      // An earlier version of the row, put back, is not the one that the ring names.
      guard last.isThere == (revision != nil), revision ?? .max >= last.generation else { throw .setMismatch }
    }
  }

  private mutating func walk(_ theirs: StoreTransaction, _ base: MergeBase, _ mine: StoreTransaction)
    throws(StoreError)
  {
    var ids: [Int64] = []
    ids.reserveCapacity(Int(clamping: theirs.state.count))
    try theirs.requireWhole { row, _ throws(StoreError) in
      ids.append(row.fields.id)
      // Rows of a copy all have revisions of the copy's.
      if !base.mayUseRing || row.fields.revision > base.seenHere { present.append(row.fields.id) }
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

/// A row, as far as a merge needs it before texts are opened.
struct MergeRow {
  let fields: RowFields
  let stamps: DocumentStamps
  let created: Int64
  let modified: Int64

  var id: Int64 { fields.id }
}

extension StoreTransaction {
  /// The row of a document, its head verified; nil if it is not there.
  func mergeRow(_ id: Int64) throws(StoreError) -> MergeRow? {
    do throws(StoreError) {
      return try reading { reader throws(StoreError) in
        let row = try reader.row(DocumentID(id), withBody: false, within: limits)
        let head = try reader.opener.openHead(row)
        return MergeRow(fields: row.fields, stamps: head.stamps, created: head.created, modified: head.modified)
      }
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      return nil
    }
  }

  /// The ids of the documents from an id on, by the identities that copies share.
  func identities(from first: Int64) throws(StoreError) -> [UInt64: Int64] {
    var ids: [Int64] = []
    try database.forEachRow(SQL.idsFrom, [first]) { row in
      ids.append(row.int64(at: 0))
      return true
    }
    var known: [UInt64: Int64] = [:]
    for id in ids { if let row = try mergeRow(id) { known[row.stamps.uid] = id } }
    return known
  }
}

extension StoreTransaction {
  /// Walks all rows and requires that they are the ones that were written.
  ///
  /// - Throws: `damaged` for a row that does not open; `setMismatch`.
  func requireWhole(_ visit: (RecordRow, RecordOpener) throws(StoreError) -> Void = { _, _ in }) throws(StoreError) {
    let sum = try sumOfRows(visit)
    if let damaged = sum.damaged.first {
      throw StoreError(.damaged, damaged.reason, hint: "\(.verify) shows what else is", documentID: damaged.id)
    }
    guard sum.isComplete, sum.set == state.set, UInt64(sum.count) == state.count else { throw .setMismatch }
  }

  /// Requires that one of two stores was made from the other, or both from one, so that documents keep their identities.
  ///
  /// - Throws: `invalidArgument`.
  func requireCommonOrigin(with other: StoreTransaction, hint: ErrorHint? = nil) throws(StoreError) {
    func ids(_ transaction: StoreTransaction) -> Set<[UInt8]> {
      let origin = transaction.state.origin
      let own = transaction.keys.session.header.storeID
      return origin.kind == .none ? [own] : [own, origin.storeID]
    }
    guard ids(self).isDisjoint(with: ids(other)) else { return }
    throw StoreError(
      .invalidArgument, "the stores have no common origin, so their documents have no common identities",
      hint: hint)
  }
}
