internal import CofferSQLite

/// The index tables (Index-Format, "Tables").
package struct IndexTables {
  /// The `compat` bit of stores with index tables.
  package static let feature: UInt64 = 1
  /// The maximum number of indexes in a store.
  package static let maximumParts: UInt32 = 64

  private static let objects = [
    (
      "coffer_x_index",
      "CREATE TABLE coffer_x_index(part INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT"
    ),
    (
      "coffer_x_index_page",
      "CREATE TABLE coffer_x_index_page(place INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT"
    ),
  ]

  private let database: StoreDatabase

  package init(_ database: StoreDatabase) {
    self.database = database
  }

  /// Returns whether both tables exist with our SQL. A table with different SQL is ignored, because a program that
  /// doesn't support indexes may use the name, and may have emptied or dropped our table.
  package func exist() throws(StoreError) -> Bool {
    for (name, sql) in Self.objects {
      let rows = try database.rows("SELECT sql FROM sqlite_schema WHERE type='table' AND name=?", name)
      guard rows.count == 1, rows[0][0] == .text(sql) else { return false }
    }
    return true
  }

  /// Creates both tables, and drops other tables with these names.
  package func make() throws(StoreError) {
    try drop()
    for (_, sql) in Self.objects { try database.execute(sql) }
  }

  package func drop() throws(StoreError) {
    for (name, _) in Self.objects { try database.execute("DROP TABLE IF EXISTS \(name)") }
  }

  /// Deletes all indexes.
  package func empty() throws(StoreError) {
    for (name, _) in Self.objects { try database.execute(SQL.emptyTable(name)) }
  }

  // MARK: Roots

  /// Returns the sealed root rows in numeric order.
  package func roots() throws(StoreError) -> [(part: UInt32, epoch: Int64, sealed: [UInt8])] {
    var roots: [(part: UInt32, epoch: Int64, sealed: [UInt8])] = []
    for row in try database.rows(SQL.indexRoots) {
      guard case .integer(let part) = row[0], (1...Int64(Self.maximumParts)).contains(part),
        case .integer(let epoch) = row[1], case .blob(let sealed) = row[2]
      else { continue }
      roots.append((UInt32(part), epoch, sealed))
    }
    return roots
  }

  /// Returns an index's sealed root row, or `nil` if it doesn't exist.
  package func root(of part: UInt32) throws(StoreError) -> (epoch: Int64, sealed: [UInt8])? {
    guard let row = try database.rows(SQL.indexRoot, Int64(part)).first, case .integer(let epoch) = row[0],
      case .blob(let sealed) = row[1]
    else { return nil }
    return (epoch, sealed)
  }

  /// Writes a root row and returns its sealed bytes.
  @discardableResult
  package func put(_ root: IndexRoot, _ keys: RowKeys) throws(StoreError) -> [UInt8] {
    let sealed = try root.seal(keys)
    try database.execute(SQL.putIndexRoot, Int64(root.part), Int64(keys.active.epoch), sealed)
    return sealed
  }

  /// Returns whether other roots exist, or pages without a root.
  package func containsRows(outside parts: [UInt32]) throws(StoreError) -> Bool {
    let numbers = parts.map { String($0) }.joined(separator: ",")
    let others = try database.rows("SELECT 1 FROM coffer_x_index WHERE part NOT IN (\(numbers)) LIMIT 1")
    let pages = try database.rows(
      "SELECT 1 FROM coffer_x_index_page WHERE place>>32 NOT IN (SELECT part FROM coffer_x_index) LIMIT 1")
    return !others.isEmpty || !pages.isEmpty
  }

  /// Deletes all other indexes and their pages.
  ///
  /// - Returns: Whether any rows were deleted.
  package func removeAll(but parts: [UInt32]) throws(StoreError) -> Bool {
    let numbers = parts.map { String($0) }.joined(separator: ",")
    let strays = try !database.rows("SELECT 1 FROM coffer_x_index WHERE part NOT IN (\(numbers)) LIMIT 1").isEmpty
    let pages = try !database.rows("SELECT 1 FROM coffer_x_index_page WHERE place>>32 NOT IN (\(numbers)) LIMIT 1")
      .isEmpty
    guard strays || pages else { return false }
    try database.execute("DELETE FROM coffer_x_index WHERE part NOT IN (\(numbers))")
    try database.execute("DELETE FROM coffer_x_index_page WHERE place>>32 NOT IN (\(numbers))")
    return true
  }

  /// Deletes an index with all its pages.
  package func delete(_ part: UInt32) throws(StoreError) {
    try deletePages(of: part)
    try database.execute(SQL.deleteIndexRoot, Int64(part))
  }

  /// Deletes all of an index's pages.
  package func deletePages(of part: UInt32) throws(StoreError) {
    try deletePages(of: part, in: 0...UInt32.max)
  }

  func deletePages(of part: UInt32, in pages: ClosedRange<UInt32>) throws(StoreError) {
    try database.execute(
      SQL.deleteIndexPages, Self.place(part, pages.lowerBound), Self.place(part, pages.upperBound))
  }

  /// Returns the number of an index's rows, which are its pages and map pages.
  func pageCount(of part: UInt32) throws(StoreError) -> Int64 {
    try database.integer(SQL.countIndexPages, Self.place(part, 0), Self.place(part, UInt32.max)) ?? 0
  }

  /// Returns a page's row ID.
  static func place(_ part: UInt32, _ page: UInt32) -> Int64 {
    Int64(part) << 32 | Int64(page)
  }
}
