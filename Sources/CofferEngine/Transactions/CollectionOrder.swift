internal import CofferRecords

/// The order of documents in a collection. A new position is midway between its neighbors, and nearby rows are spaced out
/// if the neighbors have adjacent positions.
package struct CollectionOrder {
  package let transaction: StoreTransaction

  package init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// The last document in a collection's order, valid until another row is written.
  struct Bottom {
    let collection: UInt32
    let entry: Spot.Entry
    let rowsWritten: Int
  }

  /// Returns the position for `placement`, spacing out nearby rows if necessary.
  package func position(for placement: Placement, in collection: UInt32) throws(StoreError) -> Int64 {
    try position(at: try spot(for: placement, in: collection), for: placement, in: collection)
  }

  /// Returns the position for a known spot, spacing out nearby rows if necessary.
  package func position(at spot: Spot, for placement: Placement, in collection: UInt32) throws(StoreError) -> Int64 {
    if let position = spot.position { return position }
    guard let crowded = spot.before ?? spot.after else { throw .damagedStore("positions can't be spread") }
    try spaceOut(around: crowded.position, in: collection)
    guard let position = try self.spot(for: placement, in: collection).position else {
      throw .damagedStore("positions can't be spread")
    }
    return position
  }

  /// Returns the spot for `placement`.
  ///
  /// - Throws: `noSuchDocument`, or `invalidArgument` if the neighbor is in another collection.
  package func spot(for placement: Placement, in collection: UInt32) throws(StoreError) -> Spot {
    switch placement {
    case .top:
      return Spot(before: nil, after: try entry(SQL.topEntry, Int64(collection)))
    case .bottom:
      if let bottom = transaction.bottom, bottom.collection == collection,
        try bottom.rowsWritten == transaction.writer.rowsWritten
      {
        return Spot(before: bottom.entry, after: nil)
      }
      return Spot(before: try entry(SQL.bottomEntry, Int64(collection)), after: nil)
    case .before(let neighbour):
      let here = try entry(of: neighbour, in: collection)
      return Spot(before: try entry(SQL.entryBefore, Int64(collection), here.position, here.id), after: here)
    case .after(let neighbour):
      let here = try entry(of: neighbour, in: collection)
      return Spot(before: here, after: try entry(SQL.entryAfter, Int64(collection), here.position, here.id))
    }
  }

  /// Returns the document at a zero-based index, reading an index entry for each document before it.
  package func id(at index: Int, in collection: UInt32) throws(StoreError) -> DocumentID? {
    try entry(SQL.entryAtIndex, Int64(collection), Int64(index)).map { DocumentID($0.id) }
  }

  /// Returns a document's zero-based index in its collection, reading an index entry for each document before it.
  package func index(of header: DocumentHeader) throws(StoreError) -> Int {
    try transaction.requireOpen()
    return Int(
      try transaction.database.integer(
        SQL.countBefore, Int64(header.collection.rawValue), header.position, header.id.rawValue) ?? 0)
  }

  /// Returns the documents right before and after a document.
  package func neighbours(of header: DocumentHeader) throws(StoreError) -> (before: DocumentID?, after: DocumentID?) {
    let (collection, position, id) = (Int64(header.collection.rawValue), header.position, header.id.rawValue)
    let before = try entry(SQL.entryBefore, collection, position, id)
    let after = try entry(SQL.entryAfter, collection, position, id)
    return (before.map { DocumentID($0.id) }, after.map { DocumentID($0.id) })
  }

  /// Returns the placement for a document that had this position and ID.
  package func placement(of position: Int64, _ id: DocumentID, in collection: UInt32) throws(StoreError) -> Placement {
    let before = try entry(SQL.entryBefore, Int64(collection), position, id.rawValue)
    return before.map { .after(DocumentID($0.id)) } ?? .top
  }

  /// Returns a run for an unknown number of documents, after or before all existing documents.
  func run(in collection: UInt32, atTop: Bool) throws(StoreError) -> PositionRun {
    guard atTop, let top = try entry(SQL.topEntry, Int64(collection)) else {
      return PositionRun(from: try position(for: .bottom, in: collection))
    }
    if let run = PositionRun(before: top.position) { return run }
    try pack(collection)
    return try run(in: collection, atTop: true)
  }

  private func entry(of id: DocumentID, in collection: UInt32) throws(StoreError) -> Spot.Entry {
    try transaction.reading { reader throws(StoreError) in
      let row = try reader.row(id, withBody: false, within: transaction.limits)
      _ = try reader.opener.openHead(row)
      guard row.fields.collection == collection else {
        throw StoreError(.invalidArgument, "document \(id) is in another collection", documentID: id)
      }
      return Spot.Entry(position: row.fields.position, id: row.fields.id)
    }
  }

  package func entry(_ sql: String, _ parameters: Int64...) throws(StoreError) -> Spot.Entry? {
    try transaction.requireOpen()
    var found: Spot.Entry?
    try transaction.database.forEachRow(sql, parameters) { row in
      found = Spot.Entry(position: row.int64(at: 0), id: row.int64(at: 1))
      return false
    }
    return found
  }

  /// Reorders the collection's documents to match `ids`, which must contain all of them.
  ///
  /// - Returns: The number of moved documents.
  package func arrange(_ ids: [DocumentID], in collection: UInt32) throws(StoreError) -> Int {
    try transaction.requireOpen()
    var entries: [Spot.Entry] = []
    try transaction.database.forEachRow(SQL.entries, [Int64(collection)]) { row in
      entries.append(Spot.Entry(position: row.int64(at: 0), id: row.int64(at: 1)))
      return true
    }
    guard entries.count == ids.count else { throw .damagedStore("its index of positions lacks documents") }
    var places: [Int64: Int64] = [:]
    for entry in entries { places[entry.id] = entry.position }
    // Documents with equal positions are ordered by ID, which may contradict the new order.
    let isStrict = zip(entries, entries.dropFirst()).allSatisfy { $0.position < $1.position }
    var changed = 0
    let writer = try transaction.writer
    try writer.changing { () throws(StoreError) in
      for (index, id) in ids.enumerated() {
        let position = isStrict ? entries[index].position : Int64(index + 1) * StoreFormat.positionGap
        guard places[id.rawValue] != position else { continue }
        try writer.move(id, toPosition: position, in: collection)
        changed += 1
      }
    }
    return changed
  }

  // MARK: Making room

  /// Spaces out the rows in the smallest sufficiently sparse ``PositionWindow`` around a position.
  private func spaceOut(around position: Int64, in collection: UInt32) throws(StoreError) {
    for level in PositionWindow.levels {
      let window = PositionWindow(around: position, level: level)
      let count = try count(within: window.bounds, in: collection)
      guard window.hasRoom(for: count) else { continue }
      let ids = try transaction.writer.ids(
        SQL.idsWithin, Int64(collection), window.bounds.lowerBound, window.bounds.upperBound)
      return try place(ids, from: window.bounds.lowerBound, apart: window.gap(for: ids.count), in: collection)
    }
  }

  /// Packs the fewest top rows against the next row to free a quarter of all positions.
  ///
  /// Each run takes positions for millions of documents. Packed rows remain packed, so packing moves about one row per
  /// document added at the top.
  private func pack(_ collection: UInt32) throws(StoreError) {
    var ids: [DocumentID] = []
    var below: Int64?
    try transaction.database.forEachRow(SQL.entries, [Int64(collection)]) { row in
      let position = row.int64(at: 0)
      if PositionRun.hasRoom(before: position, packing: ids.count) {
        below = position
      } else {
        ids.append(DocumentID(row.int64(at: 1)))
      }
      return below == nil
    }
    // Renumber all rows if even the last row is too close to the lowest position.
    let start = below.map { $0 - Int64(ids.count + 1) * StoreFormat.positionGap } ?? 0
    try place(ids, from: start, apart: StoreFormat.positionGap, in: collection)
  }

  /// Moves all rows. A damaged row prevents the commit, because a partial move could change the order.
  private func place(_ ids: [DocumentID], from start: Int64, apart gap: Int64, in collection: UInt32) throws(StoreError)
  {
    let writer = try transaction.writer
    try writer.changing { () throws(StoreError) in
      var position = start
      for id in ids {
        position += gap
        try writer.move(id, toPosition: position, in: collection, isRequested: false)
      }
    }
    transaction.renumbered += ids.count
  }

  private func count(within bounds: ClosedRange<Int64>, in collection: UInt32) throws(StoreError) -> Int {
    Int(try transaction.database.integer(SQL.countWithin, Int64(collection), bounds.lowerBound, bounds.upperBound) ?? 0)
  }
}
