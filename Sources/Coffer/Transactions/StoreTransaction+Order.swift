internal import CofferRecords

// Positions: a document goes midway between its neighbours. If no number is left, the rows nearby are spaced out.

extension StoreTransaction {
  /// The last document of a collection's order, as long as no other row has been written.
  struct Bottom {
    let collection: UInt32
    let entry: Spot.Entry
    let rowsWritten: Int
  }

  /// Adds a document at a place in the order of its collection.
  ///
  /// - Parameter isNew: the collection is not written yet either.
  func insert(
    _ document: Document, in record: CollectionRecord, isNew: Bool, id wanted: DocumentID?, at placement: Placement
  ) throws(StoreError) -> DocumentID {
    var position: Int64 = 0
    let id = try add(document, in: record, isNew: isNew, id: wanted, titleRule: record.titleRule) {
      () throws(StoreError) in
      position = try self.position(for: placement, in: record.id)
      return position
    }
    if case .bottom = placement {
      let entry = Spot.Entry(position: position, id: id.rawValue)
      bottom = Bottom(collection: record.id, entry: entry, rowsWritten: try writer.rowsWritten)
    }
    return id
  }

  /// The position for `placement`; moves rows nearby apart if necessary.
  func position(for placement: Placement, in collection: UInt32) throws(StoreError) -> Int64 {
    try position(at: try spot(for: placement, in: collection), for: placement, in: collection)
  }

  /// The same, for a known spot.
  func position(at spot: Spot, for placement: Placement, in collection: UInt32) throws(StoreError) -> Int64 {
    if let position = spot.position { return position }
    guard let crowded = spot.before ?? spot.after else { throw .damagedStore("positions can't be spread") }
    try spaceOut(around: crowded.position, in: collection)
    guard let position = try self.spot(for: placement, in: collection).position else {
      throw .damagedStore("positions can't be spread")
    }
    return position
  }

  /// - Throws: `noSuchDocument`, `invalidArgument` for a neighbour in another collection.
  func spot(for placement: Placement, in collection: UInt32) throws(StoreError) -> Spot {
    switch placement {
    case .top:
      return Spot(before: nil, after: try entry(SQL.topEntry, Int64(collection)))
    case .bottom:
      if let bottom, bottom.collection == collection, try bottom.rowsWritten == writer.rowsWritten {
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

  /// The document at an index of the order, from 0; each document before it costs an index entry.
  func id(at index: Int, in collection: UInt32) throws(StoreError) -> DocumentID? {
    try entry(SQL.entryAtIndex, Int64(collection), Int64(index)).map { DocumentID($0.id) }
  }

  /// The index of a document in its collection's order, from 0; each document before it costs an index entry.
  func index(of header: DocumentHeader) throws(StoreError) -> Int {
    try requireOpen()
    return Int(
      try database.integer(
        SQL.countBefore, Int64(header.collection.rawValue), header.position, header.id.rawValue) ?? 0)
  }

  /// The documents right before and behind one.
  func neighbours(of header: DocumentHeader) throws(StoreError) -> (before: DocumentID?, after: DocumentID?) {
    let (collection, position, id) = (Int64(header.collection.rawValue), header.position, header.id.rawValue)
    let before = try entry(SQL.entryBefore, collection, position, id)
    let after = try entry(SQL.entryAfter, collection, position, id)
    return (before.map { DocumentID($0.id) }, after.map { DocumentID($0.id) })
  }

  /// The place of a document that had this position and id.
  func placement(of position: Int64, _ id: DocumentID, in collection: UInt32) throws(StoreError) -> Placement {
    let before = try entry(SQL.entryBefore, Int64(collection), position, id.rawValue)
    return before.map { .after(DocumentID($0.id)) } ?? .top
  }

  /// The run for an unknown number of documents, kept in their order: behind the documents there, or before them all.
  func run(in collection: UInt32, atTop: Bool) throws(StoreError) -> PositionRun {
    guard atTop, let top = try entry(SQL.topEntry, Int64(collection)) else {
      return PositionRun(from: try position(for: .bottom, in: collection))
    }
    if let run = PositionRun(before: top.position) { return run }
    try pack(collection)
    return try run(in: collection, atTop: true)
  }

  private func entry(of id: DocumentID, in collection: UInt32) throws(StoreError) -> Spot.Entry {
    try reading { reader throws(StoreError) in
      let row = try reader.row(id, withBody: false, within: limits)
      _ = try reader.opener.openHead(row)
      guard row.fields.collection == collection else {
        throw StoreError(.invalidArgument, "document \(id) is in another collection", documentID: id)
      }
      return Spot.Entry(position: row.fields.position, id: row.fields.id)
    }
  }

  func entry(_ sql: String, _ parameters: Int64...) throws(StoreError) -> Spot.Entry? {
    try requireOpen()
    var found: Spot.Entry?
    try database.forEachRow(sql, parameters) { row in
      found = Spot.Entry(position: row.int64(at: 0), id: row.int64(at: 1))
      return false
    }
    return found
  }

  /// Gives the collection's documents new positions in the order of `ids`, which must name all of them.
  ///
  /// - Returns: how many got another position.
  func arrange(_ ids: [DocumentID], in collection: UInt32) throws(StoreError) -> Int {
    try requireOpen()
    var entries: [Spot.Entry] = []
    try database.forEachRow(SQL.entries, [Int64(collection)]) { row in
      entries.append(Spot.Entry(position: row.int64(at: 0), id: row.int64(at: 1)))
      return true
    }
    guard entries.count == ids.count else { throw .damagedStore("its index of positions lacks documents") }
    var places: [Int64: Int64] = [:]
    for entry in entries { places[entry.id] = entry.position }
    // Documents that share a position are ordered by their ids, which another order may contradict.
    let isStrict = zip(entries, entries.dropFirst()).allSatisfy { $0.position < $1.position }
    var changed = 0
    let writer = try writer
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

  /// Moves the rows around a position apart: the rows of the smallest stretch that is sparse enough
  /// (``PositionWindow``).
  private func spaceOut(around position: Int64, in collection: UInt32) throws(StoreError) {
    for level in PositionWindow.levels {
      let window = PositionWindow(around: position, level: level)
      let count = try count(within: window.bounds, in: collection)
      guard window.hasRoom(for: count) else { continue }
      let ids = try writer.ids(SQL.idsWithin, Int64(collection), window.bounds.lowerBound, window.bounds.upperBound)
      return try place(ids, from: window.bounds.lowerBound, apart: window.gap(for: ids.count), in: collection)
    }
  }

  /// Moves the fewest rows at the top that free half of all positions down to the next row below them.
  ///
  /// Each run takes room for millions, even for few documents. Packed rows stay packed, so that packing moves about one
  /// row for each document that was added at the top.
  private func pack(_ collection: UInt32) throws(StoreError) {
    var ids: [DocumentID] = []
    var below: Int64?
    try database.forEachRow(SQL.entries, [Int64(collection)]) { row in
      let position = row.int64(at: 0)
      if PositionRun.hasRoom(before: position, packing: ids.count) {
        below = position
      } else {
        ids.append(DocumentID(row.int64(at: 1)))
      }
      return below == nil
    }
    // If even the last row is too high, all rows get new positions.
    let start = below.map { $0 - Int64(ids.count + 1) * StoreFormat.positionGap } ?? 0
    try place(ids, from: start, apart: StoreFormat.positionGap, in: collection)
  }

  /// Places all rows. If one is damaged, the transaction can't be committed: half of the work could be another order.
  private func place(_ ids: [DocumentID], from start: Int64, apart gap: Int64, in collection: UInt32) throws(StoreError)
  {
    let writer = try writer
    try writer.changing { () throws(StoreError) in
      var position = start
      for id in ids {
        position += gap
        try writer.move(id, toPosition: position, in: collection, isRequested: false)
      }
    }
    renumbered += ids.count
  }

  private func count(within bounds: ClosedRange<Int64>, in collection: UInt32) throws(StoreError) -> Int {
    Int(try database.integer(SQL.countWithin, Int64(collection), bounds.lowerBound, bounds.upperBound) ?? 0)
  }
}
