internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords

// After the merge, a document's parent is in the same collection, and a document is never its own ancestor.

extension StoreMerge {
  /// Returns this store's parent ID for a document that takes the other store's position.
  func parentHere(of pair: Pair) throws(StoreError) -> Int64? {
    guard let parent = pair.theirs.fields.parent else { return nil }
    guard let there = try rowThere(parent) else {
      // The other store deleted the parent. A document may keep its ID, unless a different document uses it here.
      orphans.insert(pair.id)
      guard !kept.contains(parent), pair.mine?.fields.parent != parent else { return parent }
      let here = try MergeRow.find(parent, in: mine)
      let isOther = here.map { $0.stamps.born > base.seenThere } ?? (UInt64(parent) >= mine.start.nextID)
      return isOther ? nil : parent
    }
    return try idHere(there) ?? parent
  }

  func setParent(of id: Int64, to parent: Int64?) throws(StoreError) {
    try writer.rewrite(DocumentID(id), changing: .parent, as: .parent) {
      [row = try MergeRow.find(id, in: mine)] content, fields
        throws(StoreError) in
      fields.parent = parent
      // Keep the stamps, because the position doesn't change.
      if let row { content.stamps = row.stamps }
    }
  }

  func checkParents() throws {
    for id in try suspects() {
      guard let row = try MergeRow.find(id, in: mine), let parent = row.fields.parent else { continue }
      if try !isSound(parent, of: row) { try resolve(row, .parentGone) }
    }
    for id in placed.keys.sorted() {
      guard let ring = try ring(from: id) else { continue }
      try open(ring)
    }
  }

  /// Returns the documents whose parents may be missing.
  private func suspects() throws(StoreError) -> [Int64] {
    var found = Set(placed.keys).subtracting(orphans)
    for parent in departed {
      for child in try writer.ids(SQL.idsOfChildren, parent) where placed[child.rawValue] == nil {
        guard let row = try MergeRow.find(child.rawValue, in: mine) else { continue }
        // Skip documents that neither store moved, because both stores already have this parent.
        let collection = try mine.unverifiedFields(of: DocumentID(parent))?.collection
        if collection ?? row.fields.collection != row.fields.collection || kept.contains(row.id)
          || row.stamps.placed > base.seenThere
        {
          found.insert(row.id)
        }
      }
    }
    return found.sorted()
  }

  private func isSound(_ parent: Int64, of row: MergeRow) throws(StoreError) -> Bool {
    let collection = try mine.unverifiedFields(of: DocumentID(parent))?.collection
    return parent != row.id && collection == row.fields.collection
  }

  /// Replaces a document's parent with the other version's parent, or removes it.
  private func resolve(_ row: MergeRow, _ reason: MergeReport.Reason) throws {
    _ = try decide(reason, mine: row.id, theirs: placed[row.id]?.theirs.id)
    let parent = try otherParent(of: row)
    try setParent(of: row.id, to: parent)
    if parent != nil, try ring(from: row.id) != nil { try setParent(of: row.id, to: nil) }
    note(.parentChanged, reason, id: row.id, otherID: placed[row.id]?.theirs.id)
  }

  /// Returns the parent from the store that didn't place the document, if it's in the same collection.
  private func otherParent(of row: MergeRow) throws(StoreError) -> Int64? {
    let parent: Int64?
    if let pair = placed[row.id] {
      parent = pair.mine?.fields.parent
    } else if let there = try rowThere(row.id), there.stamps.uid == row.stamps.uid {
      parent = try parentHere(of: Pair(there, row, id: row.id))
    } else {
      parent = nil
    }
    guard let parent, parent != row.fields.parent, try isSound(parent, of: row) else { return nil }
    return parent
  }

  /// Returns the cycle of ancestors through a document, or `nil` if the document isn't its own ancestor.
  private func ring(from id: Int64) throws(StoreError) -> [MergeRow]? {
    var ring: [MergeRow] = []
    var seen: Set<Int64> = []
    var next: Int64? = id
    while let current = next, seen.insert(current).inserted, let row = try MergeRow.find(current, in: mine) {
      ring.append(row)
      next = row.fields.parent
    }
    return next == id ? ring : nil
  }

  /// Breaks a parent cycle by changing the parents that came from the losing store.
  private func open(_ ring: [MergeRow]) throws {
    let reason = MergeReport.Reason.parentCycle
    let choice = try decide(reason, mine: ring[0].id, theirs: placed[ring[0].id]?.theirs.id)
    let wins: Bool = if case .theirs = choice { true } else { false }
    var losers = ring.filter { (placed[$0.id] != nil) != wins }
    if losers.isEmpty { losers = ring }
    let parents = try losers.map { try otherParent(of: $0) }
    for (row, parent) in zip(losers, parents) {
      try setParent(of: row.id, to: parent)
      note(.parentChanged, reason, id: row.id, otherID: placed[row.id]?.theirs.id)
    }
    for row in losers where try self.ring(from: row.id) != nil { try setParent(of: row.id, to: nil) }
  }
}
