internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords

/// New positions for a plain copy's documents, in their old order. The tags of old positions would link both stores.
///
/// The order comes from SQLite's index. If it differs from the proved rows, the copy is refused. Uses 16 bytes of
/// memory per document.
struct CopiedOrder {
  /// The documents ordered by ID, each with its index within its collection.
  private var places: [(id: Int64, place: Int64)] = []
  private var next = 0
  private var runs: [UInt32: PositionRun] = [:]
  private var proof = OrderProof()

  /// Reads the order of the copied documents.
  ///
  /// - Parameter contains: Returns whether a document of a collection is copied.
  init(
    _ transaction: StoreTransaction, newTag: () throws(StoreError) -> PositionTag,
    _ contains: (_ id: Int64, _ collection: UInt32) -> Bool
  ) throws(StoreError) {
    var place: [UInt32: Int64] = [:]
    var (runs, places) = (runs, places)
    try proof.readIndex(of: transaction) { id, collection throws(StoreError) in
      guard contains(id, collection) else { return false }
      if runs[collection] == nil { runs[collection] = PositionRun(tag: try newTag()) }
      places.append((id, place[collection, default: 0]))
      place[collection, default: 0] += 1
      return true
    }
    self.runs = runs
    self.places = places.sorted { $0.id < $1.id }
  }

  /// Returns the new position of the next document, in ID order. Records the row for ``requireProof()``.
  mutating func position(of row: RecordRow) -> DocumentPosition {
    proof.add(row)
    guard next < places.count, places[next].id == row.fields.id, let run = runs[row.fields.collection],
      let position = run.position(places[next].place)
    else { return DocumentPosition(verified: row.position) }
    next += 1
    return position
  }

  /// Requires the index's order to match the rows. Call this method after all rows have a position.
  ///
  /// - Throws: `damaged`.
  func requireProof() throws(StoreError) { try proof.require() }
}
