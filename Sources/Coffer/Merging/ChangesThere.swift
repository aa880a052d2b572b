internal import CofferDocuments
internal import CofferRecords

/// The documents of the other store that may have changed since this one saw it last, and those that were deleted there.
struct ChangesThere {
  /// The changes of one document that the ring names.
  struct Named {
    /// The last generation of any of them.
    var last: UInt64 = 0
    var isThere = true
    /// All generations, and the last ones that inserted it, changed its text and moved it.
    var generations: Set<UInt64> = []
    var inserted: UInt64 = 0
    var text: UInt64 = 0
    var place: UInt64 = 0
  }

  /// In the other store, by id.
  private(set) var present: [Int64] = []
  /// The ids of this store's documents that are not in the other store, and may have been deleted there.
  private(set) var missing: [Int64] = []
  /// The changes by id; nil after a walk, which proved all rows.
  private(set) var named: [Int64: Named]?

  /// Reads the ring of the other store if that reaches back to `base`; otherwise walks all of its rows once.
  ///
  /// The ring proves the ids. A row must have the stamps that the ring says, or the walk decides: an attacker without a key
  /// may have put back an earlier row, or one of another branch of the store.
  ///
  /// - Throws: `setMismatch` if neither proves the changes; `damaged` for a row that does not open in a walk.
  init(_ theirs: StoreTransaction, since base: MergeBase, mine: StoreTransaction, _ options: MergeOptions)
    throws(StoreError)
  {
    if base.mayUseRing, !options.verifiesOther, let changes = theirs.start.ring.changes(after: base.seenHere),
      !changes.contains(where: { $0.changes == .everything }), try readRing(changes, theirs, base, mine)
    {
      return
    }
    (present, missing, named) = ([], [], nil)
    try walk(theirs, base, mine)
  }

  /// - Returns: false if the rows are not as the ring says.
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
    guard try Self.areAsNamed(collections, theirs, base, mine) else { return false }
    for (id, named) in found.sorted(by: { $0.key < $1.key }) {
      if named.isThere { present.append(id) } else { missing.append(id) }
      do throws(StoreError) {
        let row = try theirs.mergeRow(id)
        guard named.isThere == (row != nil), row.map({ named.fits($0, base) }) ?? true else { return false }
      } catch {
        // The merge finds the damaged row again, and decides.
        guard error.code == .damaged, named.isThere else { throw error }
      }
      // This store may have it under another id, which only a walk finds.
      if !named.isThere, named.inserted == 0, try !mine.hasRow(DocumentID(id)), base.relation == .original {
        return false
      }
    }
    named = found
    return true
  }

  /// Whether the collections are those that the ring names, and the ones that this store knows.
  private static func areAsNamed(
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

extension ChangesThere.Named {
  fileprivate mutating func note(_ kind: RingChanges.Kind, _ generation: UInt64) {
    // A document that went into another collection is deleted in one and inserted in the other.
    let wentElsewhere = kind == .deleted && isThere && inserted == generation
    last = generation
    generations.insert(generation)
    switch kind {
    case .inserted: (isThere, inserted, place) = (true, generation, generation)
    case .textChanged: text = generation
    case .moved: place = generation
    case .deleted: if !wentElsewhere { isThere = false }
    case .headChanged, .collection: break
    }
  }

  /// Whether a row has the stamps that these changes gave it. Those of a copy may be its original's.
  fileprivate func fits(_ row: MergeRow, _ base: MergeBase) -> Bool {
    guard row.fields.revision >= last else { return false }
    guard !base.isChain else { return true }
    let (stamps, seen) = (row.stamps, base.seenHere)
    return [stamps.born, stamps.edited, stamps.placed].allSatisfy { $0 <= seen || generations.contains($0) }
      && stamps.edited >= text && stamps.placed >= place
  }
}

/// A row, as far as a merge needs it before texts are opened.
struct MergeRow {
  let fields: RowFields
  let stamps: DocumentStamps
  let created: Int64
  let modified: Int64
  /// The stamps as this store must compare them: changes that a copy took over from its original have the copy's generation.
  var changes: DocumentStamps

  var id: Int64 { fields.id }
}

extension StoreTransaction {
  /// The row of a document, its head verified; nil if it is not there.
  func mergeRow(_ id: Int64) throws(StoreError) -> MergeRow? {
    do throws(StoreError) {
      return try reading { reader throws(StoreError) in
        let row = try reader.row(DocumentID(id), withBody: false, within: limits)
        let head = try reader.opener.openHead(row)
        return MergeRow(
          fields: row.fields, stamps: head.stamps, created: head.created, modified: head.modified, changes: head.stamps)
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
    try requireWhole(try sumOfRows(visit))
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
