internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// New positions for the documents of a plain copy, in the order of the old ones, whose tags would link both stores.
///
/// The order comes from SQLite's index, which isn't proved. Each proved row is compared with it, so that a copy whose
/// documents are in another order than the rows say is refused. Keeps 16 bytes of memory for each document.
struct CopiedOrder {
  /// The documents in the order of their IDs, with their places in the order of their collection.
  private var places: [(id: Int64, place: Int64)] = []
  private var next = 0
  private var runs: [UInt32: PositionRun] = [:]
  /// Sums of keyed hashes of all entries of the index, and of all proved rows. The key is this process's alone.
  private var (indexed, proved) = (0, 0)

  /// Reads the order of the documents that are copied.
  ///
  /// - Parameter contains: Whether a document of a collection is copied.
  init(
    _ transaction: StoreTransaction, newTag: () throws(StoreError) -> PositionTag,
    _ contains: (_ id: Int64, _ collection: UInt32) -> Bool
  ) throws(StoreError) {
    var place: [UInt32: Int64] = [:]
    let entries = try transaction.database.statement(SQL.allEntries)
    while try entries.step() {
      let columns = entries.columns()
      let (collection, id) = (UInt32(truncatingIfNeeded: columns[0].integer), columns[2].integer)
      // A cycle of pages would repeat entries forever.
      guard places.count <= transaction.state.count else { throw Self.damaged }
      guard contains(id, collection) else { continue }
      if runs[collection] == nil { runs[collection] = PositionRun(tag: try newTag()) }
      places.append((id, place[collection, default: 0]))
      place[collection, default: 0] += 1
      indexed &+= Self.hash(id, collection, columns[1].bytes)
    }
    places.sort { $0.id < $1.id }
  }

  /// Returns the new position of the next document in the order of IDs. Notes a row that the index doesn't have.
  mutating func position(of row: RecordRow) -> DocumentPosition {
    proved &+= Self.hash(row.fields.id, row.fields.collection, row.position)
    guard next < places.count, places[next].id == row.fields.id, let run = runs[row.fields.collection],
      let position = run.position(places[next].place)
    else { return DocumentPosition(verified: row.position) }
    next += 1
    return position
  }

  /// Requires that the rows had the order that the index has, once all have a position.
  ///
  /// - Throws: `damaged`.
  func requireProof() throws(StoreError) {
    guard next == places.count, indexed == proved else { throw Self.damaged }
  }

  private static func hash(_ id: Int64, _ collection: UInt32, _ position: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(id)
    hasher.combine(collection)
    hasher.combine(bytes: position)
    return hasher.finalize()
  }

  private static var damaged: StoreError {
    .damagedStore("its index of the documents' order differs from the documents")
  }
}
