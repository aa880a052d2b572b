internal import CofferDocuments

// Handles cycles of parents, which result from merging stores that moved documents independently (FORMAT, "Parents").

extension RecordWriter {
  /// Notes the document at which a cycle is cut, if a document to be moved or deleted is part of that cycle.
  /// ``settleParents(placed:)`` then sets the noted document's parent again.
  ///
  /// - Parameter fields: The document's row.
  func noteCutParent(above fields: RowFields) throws(StoreError) {
    // A cycle has documents that were moved in at least two replicas.
    guard replicas.entries.count > 1, let parent = fields.parent else { return }
    do throws(StoreError) {
      try noteCutParent(above: fields.id, from: parent)
    } catch {
      // A damaged ancestor doesn't prevent the deletion of its descendants.
      guard error.code == .damaged else { throw error }
    }
  }

  private func noteCutParent(above id: Int64, from parent: Int64) throws(StoreError) {
    var parent = parent
    let reader = familyReader
    defer { reader.reset() }
    var seen: Set<Int64> = [id]
    while seen.insert(parent).inserted, let row = try familyRow(parent, reader) {
      if let next = row.fields.parent {
        parent = next
        continue
      }
      guard let uid = try reader.opener.openHead(row, acceptsNewer: true).parent else { return }
      let root = parent
      reader.reset()
      if let parent = try descendant(of: id, with: uid, reader) { cutParents[root] = (parent, uid) }
      return
    }
  }

  /// Resets the noted documents' parents, and cuts each cycle by removing the last placed document's parent.
  ///
  /// - Parameter placed: The documents with new parents. Each new cycle contains one of these documents or a noted
  ///   document.
  package func settleParents(placed: [Int64] = []) throws(StoreError) {
    guard !placed.isEmpty || !cutParents.isEmpty else { return }
    try changing { () throws(StoreError) in try settle(placed) }
  }

  private func settle(_ placed: [Int64]) throws(StoreError) {
    let reader = familyReader
    var placed = placed
    for (child, parent) in cutParents where try isParent(parent, of: child, reader) {
      try setParentRow(of: DocumentID(child), to: parent.id)
      highestSettledParent = max(highestSettledParent, parent.id)
      placed.append(child)
    }
    cutParents = [:]
    for id in placed {
      guard let latest = try latestPlaced(inCycleAbove: id, reader) else { continue }
      try setParentRow(of: DocumentID(latest), to: nil)
    }
  }

  /// Returns whether a document without a parent names another document as its parent, which is in its collection or
  /// deleted.
  private func isParent(
    _ parent: (id: Int64, uid: UniqueID), of child: Int64, _ reader: RecordReader
  ) throws(StoreError) -> Bool {
    defer { reader.reset() }
    var collection: UInt32?
    if let row = try familyRow(parent.id, reader) {
      collection = row.fields.collection
      guard try reader.opener.openHead(row, acceptsNewer: true).uid == parent.uid else { return false }
    }
    guard let row = try familyRow(child, reader), row.fields.parent == nil,
      collection ?? row.fields.collection == row.fields.collection
    else { return false }
    return try reader.opener.openHead(row, acceptsNewer: true).parent == parent.uid
  }

  /// Returns the document in a cycle that was placed last, or `nil` if a document's ancestors don't form a cycle.
  private func latestPlaced(inCycleAbove id: Int64, _ reader: RecordReader) throws(StoreError) -> Int64? {
    defer { reader.reset() }
    var path: [Int64] = []
    var places: [Int64: Int] = [:]
    var next = id
    while places[next] == nil {
      guard let row = try familyRow(next, reader), let parent = row.fields.parent else { return nil }
      places[next] = path.count
      path.append(next)
      next = parent
    }
    var latest: (id: Int64, dot: Dot, uid: UniqueID)?
    for id in path[places[next]!...] {
      guard let row = try familyRow(id, reader) else { continue }
      let head = try reader.opener.openHead(row, acceptsNewer: true)
      let dot = DocumentDots(checked: head.dots).place
      if let known = latest {
        guard known.dot == dot ? known.uid < head.uid : replicas.isBefore(known.dot, dot) else { continue }
      }
      latest = (id, dot, head.uid)
    }
    return latest?.id
  }

  /// Returns the document or its descendant with an identity, or `nil` if there isn't one.
  private func descendant(of id: Int64, with uid: UniqueID, _ reader: RecordReader) throws(StoreError) -> Int64? {
    defer { reader.reset() }
    var seen: Set<Int64> = [id]
    var waiting = [id]
    while let next = waiting.popLast() {
      guard let row = try familyRow(next, reader) else { continue }
      if try reader.opener.openHead(row, acceptsNewer: true).uid == uid { return next }
      for child in try ids(SQL.idsOfChildren, next) where seen.insert(child.rawValue).inserted {
        waiting.append(child.rawValue)
      }
    }
    return nil
  }

  /// Returns a document's row without its text, or `nil` if the document doesn't exist.
  private func familyRow(_ id: Int64, _ reader: RecordReader) throws(StoreError) -> RecordRow? {
    do throws(StoreError) {
      return try reader.row(DocumentID(id), withBody: false, within: limits)
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      return nil
    }
  }
}
