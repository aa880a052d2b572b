internal import CofferSQLite

/// The tables of indexes (FORMAT, "Indexes").
package struct IndexTables {
  /// The bit of `compat` of a store that has them.
  package static let feature: UInt64 = 1
  /// The most indexes of a store.
  package static let maximumParts: UInt32 = 64

  private static let objects = [
    (
      "coffer_x_index",
      "CREATE TABLE coffer_x_index(part INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT"
    ),
    (
      "coffer_x_index_page",
      "CREATE TABLE coffer_x_index_page(place INTEGER PRIMARY KEY,epoch INTEGER NOT NULL,rev INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT"
    ),
  ]

  private let database: StoreDatabase

  package init(_ database: StoreDatabase) {
    self.database = database
  }

  /// Whether both tables exist, made by our SQL. A table with other SQL is ignored: a program that does not
  /// know indexes may use the name, and may have emptied or dropped our table.
  package func exist() throws(StoreError) -> Bool {
    for (name, sql) in Self.objects {
      let rows = try database.rows("SELECT sql FROM sqlite_schema WHERE type='table' AND name=?", name)
      guard rows.count == 1, rows[0][0] == .text(sql) else { return false }
    }
    return true
  }

  /// Makes both tables; others of these names are dropped.
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

  /// The sealed root rows, in the order of their numbers.
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

  /// The sealed root row of an index; nil if there is none.
  package func root(of part: UInt32) throws(StoreError) -> (epoch: Int64, sealed: [UInt8])? {
    guard let row = try database.rows(SQL.indexRoot, Int64(part)).first, case .integer(let epoch) = row[0],
      case .blob(let sealed) = row[1]
    else { return nil }
    return (epoch, sealed)
  }

  /// Writes a root row.
  ///
  /// - Returns: its sealed bytes.
  @discardableResult
  package func put(_ root: IndexRoot, _ keys: RowKeys) throws(StoreError) -> [UInt8] {
    let sealed = try root.seal(keys)
    try database.execute(SQL.putIndexRoot, Int64(root.part), Int64(keys.active.epoch), sealed)
    return sealed
  }

  /// Whether there are roots of other numbers, or pages whose root is not there.
  package func holdsOthers(than parts: [UInt32]) throws(StoreError) -> Bool {
    let numbers = parts.map { String($0) }.joined(separator: ",")
    let others = try database.rows("SELECT 1 FROM coffer_x_index WHERE part NOT IN (\(numbers)) LIMIT 1")
    let pages = try database.rows(
      "SELECT 1 FROM coffer_x_index_page WHERE place>>32 NOT IN (SELECT part FROM coffer_x_index) LIMIT 1")
    return !others.isEmpty || !pages.isEmpty
  }

  /// Deletes all indexes but some, and pages that belong to none of these.
  ///
  /// - Returns: whether there were any.
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

  /// Deletes the pages of an index from `first` on.
  package func deletePages(of part: UInt32, from first: UInt32 = 0) throws(StoreError) {
    try database.execute(
      SQL.deleteIndexPages, Self.place(part, first), Self.place(part, UInt32.max))
  }

  /// The row of a page.
  static func place(_ part: UInt32, _ page: UInt32) -> Int64 {
    Int64(part) << 32 | Int64(page)
  }
}
