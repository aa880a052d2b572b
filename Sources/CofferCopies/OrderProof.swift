internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// A comparison of SQLite's unverified position index with the verified rows.
///
/// Sums keyed hashes of all index entries and of all rows. Only this process has the key.
struct OrderProof {
  private var (indexed, proved) = (0, 0)
  private var hasTooManyEntries = false

  /// Reads the index in the documents' order.
  ///
  /// - Parameter includes: Returns whether to compare an entry.
  mutating func readIndex(
    of transaction: StoreTransaction,
    where includes: (_ id: Int64, _ collection: UInt32) throws(StoreError) -> Bool = { _, _ in true }
  ) throws(StoreError) {
    var count: UInt64 = 0
    let entries = try transaction.database.statement(SQL.allEntries)
    defer { entries.reset() }
    while try entries.step() {
      // Stop at too many entries, because a page cycle would repeat entries forever.
      count += 1
      guard count <= transaction.state.count else {
        hasTooManyEntries = true
        break
      }
      let columns = entries.columns()
      let (collection, id) = (UInt32(truncatingIfNeeded: columns[0].integer), columns[2].integer)
      if try includes(id, collection) { indexed &+= Self.hash(id, collection, columns[1].bytes) }
    }
  }

  mutating func add(_ row: RecordRow) {
    proved &+= Self.hash(row.fields.id, row.fields.collection, row.position)
  }

  /// Requires the same entries in the index and in the rows.
  ///
  /// - Throws: `damaged`.
  func require() throws(StoreError) {
    guard !hasTooManyEntries, indexed == proved else {
      throw .damagedStore("its index of the documents' order differs from the documents")
    }
  }

  private static func hash(_ id: Int64, _ collection: UInt32, _ position: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(id)
    hasher.combine(collection)
    hasher.combine(bytes: position)
    return hasher.finalize()
  }
}
