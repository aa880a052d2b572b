internal import CofferRecords

/// A location in a collection's order, between two documents or at either end.
package struct Spot {
  package struct Entry {
    package let position: DocumentPosition
    package let id: Int64
  }

  /// The document right before the spot, if any.
  package let before: Entry?
  package let after: Entry?

  /// Returns whether the document is already at this spot.
  package func touches(_ id: DocumentID) -> Bool {
    before?.id == id.rawValue || after?.id == id.rawValue
  }
}

/// The order of documents in a collection. A new document's position is between its neighbors' positions.
package struct CollectionOrder {
  /// The maximum length of the positions that documents get when there's no space between their neighbors.
  private static let renewedLength = 64

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

  /// Returns the position for `placement`.
  package func position(for placement: Placement, in collection: UInt32) throws(StoreError) -> DocumentPosition {
    try position(at: try spot(for: placement, in: collection), for: placement, in: collection)
  }

  /// Returns the position for a known spot.
  package func position(at spot: Spot, for placement: Placement, in collection: UInt32)
    throws(StoreError) -> DocumentPosition
  {
    var run = try self.run(at: spot, for: placement, in: collection, count: 1)
    let position = try run.take()
    transaction.connection.lastRun = run
    return position
  }

  /// Returns a run for consecutive documents at a spot.
  ///
  /// If a position would be too long, the neighbors get new positions. Positions only reach that length in special
  /// cases, such as hundreds of insertions that each halve the last gap.
  ///
  /// - Parameter count: The number of documents, or `nil` if it isn't known.
  package func run(at spot: Spot, for placement: Placement, in collection: UInt32, count: Int?)
    throws(StoreError) -> PositionRun
  {
    // The caller takes the positions, so a later document can't tell here whether it continues the run.
    defer { transaction.connection.lastRun = nil }
    if let run = try run(at: spot, for: placement, in: collection, count) { return run }
    try renewPositions(around: spot, in: collection)
    let spot = try self.spot(for: placement, in: collection)
    guard let run = try run(at: spot, for: placement, in: collection, count) else {
      throw .damagedStore("its positions have another order than its list")
    }
    return run
  }

  private func run(at spot: Spot, for placement: Placement, in collection: UInt32, _ count: Int?)
    throws(StoreError) -> PositionRun?
  {
    var (left, right) = (spot.before?.position, spot.after?.position)
    // Documents with equal positions stay together, because there's no position between them.
    if let tied = left, left == right {
      if case .before = placement {
        left = try entry(SQL.entryBelow, in: collection, tied)?.position
      } else {
        right = try entry(SQL.entryAbove, in: collection, tied)?.position
      }
    }
    if let run = transaction.connection.lastRun, run.continues(between: left, and: right, count: count) { return run }
    return PositionRun(between: left, and: right, tag: try transaction.keys.newPositionTag(), count: count)
  }

  /// Returns the spot for `placement`.
  ///
  /// - Throws: `noSuchDocument`, or `invalidArgument` if the neighbor is in another collection.
  package func spot(for placement: Placement, in collection: UInt32) throws(StoreError) -> Spot {
    switch placement {
    case .top:
      return Spot(before: nil, after: try entry(SQL.topEntry, in: collection))
    case .bottom:
      if let bottom = transaction.bottom, bottom.collection == collection,
        try bottom.rowsWritten == transaction.writer.rowsWritten
      {
        return Spot(before: bottom.entry, after: nil)
      }
      return Spot(before: try entry(SQL.bottomEntry, in: collection), after: nil)
    case .before(let neighbour):
      let here = try entry(of: neighbour, in: collection)
      return Spot(before: try entry(SQL.entryBefore, in: collection, here.position, here.id), after: here)
    case .after(let neighbour):
      let here = try entry(of: neighbour, in: collection)
      return Spot(before: here, after: try entry(SQL.entryAfter, in: collection, here.position, here.id))
    }
  }

  /// Returns the document at a zero-based index, reading an index entry for each document before it.
  package func id(at index: Int, in collection: UInt32) throws(StoreError) -> DocumentID? {
    let statement = try transaction.database.statement(SQL.entryAtIndex, Int64(collection), Int64(index))
    return try entry(statement).map { DocumentID($0.id) }
  }

  /// Returns a document's zero-based index in its collection, reading an index entry for each document before it.
  package func index(of header: DocumentHeader) throws(StoreError) -> Int {
    try transaction.requireOpen()
    let statement = try transaction.database.statement(
      SQL.countBefore, in: header.collection.rawValue, at: header.position, header.id.rawValue)
    defer { statement.reset() }
    return try statement.step() ? Int(statement.int64(at: 0)) : 0
  }

  /// Returns the documents right before and after a document.
  package func neighbours(of header: DocumentHeader) throws(StoreError) -> (before: DocumentID?, after: DocumentID?) {
    let (collection, position, id) = (header.collection.rawValue, header.position, header.id.rawValue)
    let before = try entry(SQL.entryBefore, in: collection, position, id)
    let after = try entry(SQL.entryAfter, in: collection, position, id)
    return (before.map { DocumentID($0.id) }, after.map { DocumentID($0.id) })
  }

  /// Returns the placement for a document that had this position and ID.
  package func placement(of position: DocumentPosition, _ id: DocumentID, in collection: UInt32)
    throws(StoreError) -> Placement
  {
    let before = try entry(SQL.entryBefore, in: collection, position, id.rawValue)
    return before.map { .after(DocumentID($0.id)) } ?? .top
  }

  /// Returns a run for an unknown number of documents, after or before all existing documents.
  func run(in collection: UInt32, atTop: Bool) throws(StoreError) -> PositionRun {
    let placement: Placement = atTop ? .top : .bottom
    return try run(at: spot(for: placement, in: collection), for: placement, in: collection, count: nil)
  }

  private func entry(of id: DocumentID, in collection: UInt32) throws(StoreError) -> Spot.Entry {
    try transaction.reading { reader throws(StoreError) in
      let row = try reader.row(id, withBody: false, within: transaction.limits)
      _ = try reader.opener.openHead(row)
      guard row.fields.collection == collection else {
        throw StoreError(.invalidArgument, "document \(id) is in another collection", documentID: id)
      }
      return Spot.Entry(position: DocumentPosition(verified: row.position), id: row.fields.id)
    }
  }

  /// Returns the first entry of a collection's order that a statement selects.
  package func entry(_ sql: String, in collection: UInt32) throws(StoreError) -> Spot.Entry? {
    try entry(try transaction.database.statement(sql, Int64(collection)))
  }

  /// Returns the first entry that a statement selects next to a position and ID.
  package func entry(_ sql: String, in collection: UInt32, _ position: DocumentPosition, _ id: Int64...)
    throws(StoreError) -> Spot.Entry?
  {
    let statement =
      if let id = id.first {
        try transaction.database.statement(sql, in: collection, at: position, id)
      } else {
        try transaction.database.statement(sql, in: collection, at: position)
      }
    return try entry(statement)
  }

  private func entry(_ statement: StoreStatement) throws(StoreError) -> Spot.Entry? {
    try transaction.requireOpen()
    return try entries(of: statement, limit: 1).first
  }

  private func entries(of statement: StoreStatement, limit: Int = .max) throws(StoreError) -> [Spot.Entry] {
    defer { statement.reset() }
    var entries: [Spot.Entry] = []
    while entries.count < limit, try statement.step() {
      let id = statement.int64(at: 1)
      guard let position = statement.position(at: 0) else { throw .damagedDocument(id, "pos is no position") }
      entries.append(Spot.Entry(position: position, id: id))
    }
    return entries
  }

  /// Reorders the collection's documents to match `ids`, which must contain all of them.
  ///
  /// - Returns: The number of moved documents.
  package func arrange(_ ids: [DocumentID], in collection: UInt32) throws(StoreError) -> Int {
    try transaction.requireOpen()
    let entries = try entries(of: try transaction.database.statement(SQL.entries, Int64(collection)))
    guard entries.count == ids.count else { throw .damagedStore("its index of positions lacks documents") }
    var places: [Int64: DocumentPosition] = [:]
    for entry in entries { places[entry.id] = entry.position }
    // Documents with equal positions are ordered by ID, which may contradict the new order.
    let isStrict = zip(entries, entries.dropFirst()).allSatisfy { $0.position < $1.position }
    var run = PositionRun(tag: try transaction.keys.newPositionTag())
    var changed = 0
    let writer = try transaction.writer
    try writer.changing { () throws(StoreError) in
      for (index, id) in ids.enumerated() {
        let position = isStrict ? entries[index].position : try run.take()
        guard places[id.rawValue] != position else { continue }
        try writer.move(id, toPosition: position, in: collection)
        changed += 1
      }
    }
    return changed
  }

  /// Gives the documents around a spot new, short positions in the same order.
  ///
  /// A damaged row prevents the commit, because a partial renewal could change the order.
  private func renewPositions(around spot: Spot, in collection: UInt32) throws(StoreError) {
    var radius: Int64 = 8
    while true {
      let before = try entries(upTo: spot.before, in: collection, limit: radius + 1)
      let after = try entries(after: spot.before, in: collection, limit: radius + 1)
      // The outermost entries bound the window, unless it reaches the end.
      let left = before.count > radius ? before.last : nil
      let right = after.count > radius ? after.last : nil
      let window = before.prefix(Int(radius)).reversed() + after.prefix(Int(radius))
      let run = PositionRun(
        between: left?.position, and: right?.position, tag: try transaction.keys.newPositionTag(), count: window.count,
        length: Self.renewedLength)
      guard var run else {
        radius *= 2
        continue
      }
      let writer = try transaction.writer
      return try writer.changing { () throws(StoreError) in
        for entry in window { try writer.move(DocumentID(entry.id), toPosition: try run.take(), in: collection) }
      }
    }
  }

  /// Returns an entry and the preceding entries, in descending order.
  private func entries(upTo entry: Spot.Entry?, in collection: UInt32, limit: Int64) throws(StoreError) -> [Spot.Entry]
  {
    guard let entry else { return [] }
    return try entries(
      of: try transaction.database.statement(SQL.entriesUpTo, in: collection, at: entry.position, entry.id, limit))
  }

  /// Returns the entries after an entry, or the collection's first entries for `nil`.
  private func entries(after entry: Spot.Entry?, in collection: UInt32, limit: Int64) throws(StoreError) -> [Spot.Entry]
  {
    guard let entry else {
      return try entries(of: try transaction.database.statement(SQL.entries, Int64(collection)), limit: Int(limit))
    }
    return try entries(
      of: try transaction.database.statement(SQL.entriesAfter, in: collection, at: entry.position, entry.id, limit))
  }
}
