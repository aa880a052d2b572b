internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// New positions for a plain copy's documents, in their old order. The tags of old positions would link both stores.
///
/// The order comes from SQLite's index, which isn't proved. Comparing each proved row with the index detects an order
/// that differs from the rows, and the copy is then refused. Uses 16 bytes of memory per document.
struct CopiedOrder {
  /// The documents ordered by ID, each with its place within its collection.
  private var places: [(id: Int64, place: Int64)] = []
  private var next = 0
  private var hasTooManyEntries = false
  private var runs: [UInt32: PositionRun] = [:]
  /// Sums of keyed hashes over all index entries and over all proved rows. Only this process has the key.
  private var (indexed, proved) = (0, 0)

  /// Reads the order of the copied documents.
  ///
  /// - Parameter contains: Returns whether a document of a collection is copied.
  init(
    _ transaction: StoreTransaction, newTag: () throws(StoreError) -> PositionTag,
    _ contains: (_ id: Int64, _ collection: UInt32) -> Bool
  ) throws(StoreError) {
    var place: [UInt32: Int64] = [:]
    var count: UInt64 = 0
    let entries = try transaction.database.statement(SQL.allEntries)
    defer { entries.reset() }
    while try entries.step() {
      let columns = entries.columns()
      let (collection, id) = (UInt32(truncatingIfNeeded: columns[0].integer), columns[2].integer)
      // Stop at too many entries, because a page cycle would repeat entries forever.
      count += 1
      guard count <= transaction.state.count else {
        hasTooManyEntries = true
        break
      }
      guard contains(id, collection) else { continue }
      if runs[collection] == nil { runs[collection] = PositionRun(tag: try newTag()) }
      places.append((id, place[collection, default: 0]))
      place[collection, default: 0] += 1
      indexed &+= Self.hash(id, collection, columns[1].bytes)
    }
    places.sort { $0.id < $1.id }
  }

  /// Returns the new position of the next document, in ID order. Records the row for ``requireProof()``.
  mutating func position(of row: RecordRow) -> DocumentPosition {
    proved &+= Self.hash(row.fields.id, row.fields.collection, row.position)
    guard next < places.count, places[next].id == row.fields.id, let run = runs[row.fields.collection],
      let position = run.position(places[next].place)
    else { return DocumentPosition(verified: row.position) }
    next += 1
    return position
  }

  /// Requires the index's order to match the rows. Call this method after all rows have a position.
  ///
  /// - Throws: `damaged`.
  func requireProof() throws(StoreError) {
    guard !hasTooManyEntries, next == places.count, indexed == proved else { throw Self.damaged }
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
