internal import CofferSQLite

/// A store's signed release notes, which are readable without a key, and the publisher's data for leading readers from
/// one release to the next (FORMAT, "Releases").
package struct ReleaseTable {
  /// The `compat` bit of stores with releases.
  package static let feature: UInt64 = 2
  /// The maximum number of releases in a store.
  package static let maximumCount = 100_000
  /// The maximum length of a sealed private part, in bytes. A part with all replicas is shorter.
  package static let maximumPartByteCount = 128 << 10

  private static let name = "coffer_x_release"
  private static let sql =
    "CREATE TABLE coffer_x_release(number INTEGER PRIMARY KEY,note TEXT NOT NULL,private BLOB) STRICT"

  private let database: StoreDatabase

  package init(_ database: StoreDatabase) {
    self.database = database
  }

  /// Returns whether the table exists with our SQL. A table with different SQL is ignored, because a program that
  /// doesn't support releases may use the name.
  package func exists() throws(StoreError) -> Bool {
    let rows = try database.rows("SELECT sql FROM sqlite_schema WHERE type='table' AND name=?", Self.name)
    return rows.count == 1 && rows[0][0] == .text(Self.sql)
  }

  /// Returns the unverified notes in numeric order.
  ///
  /// - Throws: `damaged` if the rows are out of bounds.
  package func notes() throws(StoreError) -> [(number: Int64, note: String)] {
    guard try exists() else { return [] }
    var notes: [(number: Int64, note: String)] = []
    try database.forEachRow(SQL.releases, [Int64(Self.maximumCount) + 1]) { columns throws(StoreError) in
      let row = try columns.values()
      guard case .integer(let number) = row[0], (1...StoreFormat.maximumNumber).contains(number),
        number > notes.last?.number ?? 0, case .text(let note) = row[1],
        note.utf8.count <= SignedNote.maximumByteCount, notes.count < Self.maximumCount
      else { throw .damagedStore("the row of a release is out of its bounds") }
      notes.append((number, note))
      return true
    }
    return notes
  }

  /// Returns a release's sealed private part, or `nil` if the release was made elsewhere.
  package func privatePart(of number: Int64) throws(StoreError) -> [UInt8]? {
    guard try exists(), let row = try database.rows(SQL.releasePart, number).first, case .blob(let sealed) = row[0]
    else { return nil }
    guard sealed.count <= Self.maximumPartByteCount else {
      throw .damagedStore("the row of a release is out of its bounds")
    }
    return sealed
  }

  /// Writes a release, and creates the table if the store doesn't have one.
  ///
  /// - Parameter part: The sealed private part, in the publisher's store.
  package func put(_ note: String, number: Int64, private part: [UInt8]? = nil) throws(StoreError) {
    if try !exists() {
      try database.execute("DROP TABLE IF EXISTS \(Self.name)")
      try database.execute(Self.sql)
    }
    try database.execute(SQL.putRelease, number, note, part)
  }
}
