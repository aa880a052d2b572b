internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords

// Documents that neither store placed keep their positions. Every other document follows its nearest unmoved
// predecessor, in the order of the store that placed it. If both stores placed a group after the same predecessor, the
// group with the smaller first identity comes first.

extension StoreMerge {
  /// The other store's documents to insert after one document, in their order.
  struct Group {
    let record: CollectionRecord
    /// The preceding document in this store, or 0 at the top of the collection.
    let anchor: Int64
    var pairs: [Pair]
  }

  private struct Gap: Hashable {
    let collection: UInt32
    let anchor: Int64
  }

  func groups(of pairs: [Pair]) throws -> [Group] {
    let ordered = pairs.sorted {
      ($0.theirs.fields.collection, $0.theirs.position, $0.theirs.id)
        < ($1.theirs.fields.collection, $1.theirs.position, $1.theirs.id)
    }
    var groups: [Group] = []
    var known: [Gap: Int] = [:]
    for pair in ordered {
      guard let record = try collectionHere(pair.theirs.fields.collection) else {
        preconditionFailure("internal error: a document was to go into a collection that stays dropped")
      }
      let gap = Gap(collection: record.id, anchor: try anchorThere(of: pair.theirs))
      if let index = known[gap] {
        groups[index].pairs.append(pair)
      } else {
        known[gap] = groups.count
        groups.append(Group(record: record, anchor: gap.anchor, pairs: [pair]))
      }
    }
    return groups
  }

  func write(_ group: Group) throws {
    let own = try ownGroup(behind: group.anchor, in: group.record)
    let isFirst = own.map { group.pairs[0].theirs.stamps.uid < $0.firstUID } ?? true
    let previous = isFirst ? group.anchor : own?.last ?? group.anchor
    let placement: Placement = previous == 0 ? .top : .after(DocumentID(previous))
    var run = try mine.order.run(
      at: mine.order.spot(for: placement, in: group.record.id), for: placement, in: group.record.id,
      count: group.pairs.count)
    for pair in group.pairs { try write(pair, in: group.record, at: run.take()) }
  }

  // MARK: Predecessors

  /// Returns whether neither store placed a document and both have it in the same collection, given its unmerged rows.
  private func isUnmoved(_ here: MergeRow, _ there: MergeRow) -> Bool {
    here.stamps.uid == there.stamps.uid
      && base.isUnchanged(mine: here.stamps.placed, theirs: there.changes.placed)
      && numbers[there.fields.collection] == here.fields.collection
  }

  /// Returns this store's ID of the nearest unmoved predecessor in the other store's order, or 0 if every predecessor
  /// was moved.
  func anchorThere(of row: MergeRow) throws(StoreError) -> Int64 {
    var passed: [Int64] = []
    var anchor: Int64 = 0
    var place = (row.position, row.id)
    while let entry = try theirs.order.entry(SQL.entryBefore, in: row.fields.collection, place.0, place.1) {
      let previous = entry.id
      if let known = anchorsThere[previous] {
        anchor = known
        break
      }
      if let there = try rowThere(previous), let id = try idHere(there), let here = try MergeRow.find(id, in: mine),
        isUnmoved(here, there)
      {
        anchor = id
        anchorsThere[previous] = id
        break
      }
      passed.append(previous)
      place = (entry.position, previous)
    }
    for id in passed + [row.id] { anchorsThere[id] = anchor }
    return anchor
  }

  /// Returns the nearest unmoved predecessor in this store's order, or 0 if every predecessor was moved.
  private func anchorHere(of row: MergeRow) throws(StoreError) -> Int64 {
    var passed: [Int64] = []
    var anchor: Int64 = 0
    var place = (row.position, row.id)
    while let previous = try mine.order.entry(SQL.entryBefore, in: row.fields.collection, place.0, place.1)?.id {
      if let known = anchorsHere[previous] {
        anchor = known
        break
      }
      guard let here = try MergeRow.find(previous, in: mine) else { break }
      if try isUnmoved(here) {
        anchor = previous
        anchorsHere[previous] = previous
        break
      }
      passed.append(previous)
      place = (here.position, previous)
    }
    for id in passed + [row.id] { anchorsHere[id] = anchor }
    return anchor
  }

  private func isUnmoved(_ here: MergeRow) throws(StoreError) -> Bool {
    // Documents that this store didn't place have the same ID in both stores.
    guard here.stamps.placed <= base.seenThere || here.stamps.placed < base.firstOwn,
      let there = try rowThere(here.id)
    else { return false }
    return isUnmoved(here, there)
  }

  /// Returns whether both stores placed a document at the same position.
  func haveSamePosition(_ pair: Pair, _ here: MergeRow) throws(StoreError) -> Bool {
    let there = pair.theirs
    guard numbers[there.fields.collection] == here.fields.collection, try parentHere(of: pair) == here.fields.parent
    else { return false }
    return try anchorThere(of: there) == anchorHere(of: here)
  }

  /// Returns the first identity and last document of the group that this store placed after a predecessor.
  private func ownGroup(behind anchor: Int64, in record: CollectionRecord) throws(StoreError)
    -> (firstUID: UniqueID, last: Int64)?
  {
    var group: (firstUID: UniqueID, last: Int64)?
    var next =
      if anchor != 0, let row = try MergeRow.find(anchor, in: mine) {
        try mine.order.entry(SQL.entryAfter, in: record.id, row.position, anchor)
      } else {
        try mine.order.entry(SQL.topEntry, in: record.id)
      }
    while let entry = next, let row = try MergeRow.find(entry.id, in: mine) {
      if placed[entry.id] == nil {
        if try isUnmoved(row) { break }
        group = (group?.firstUID ?? row.stamps.uid, entry.id)
      }
      next = try mine.order.entry(SQL.entryAfter, in: record.id, entry.position, entry.id)
    }
    return group
  }
}
