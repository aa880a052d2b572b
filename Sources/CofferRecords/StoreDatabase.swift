package import CofferDocuments
package import CofferSQLite

/// A SQLite connection that throws ``StoreError``.
///
/// Use it and its statements on one thread at a time.
package struct StoreDatabase {
  /// The connection for pragmas, backups and checkpoints, and for code that needs SQLite's error.
  package let connection: Database

  package init(_ connection: Database) {
    self.connection = connection
  }

  // MARK: Statements

  /// Returns a cached statement with bound parameters.
  package func statement(_ sql: String, _ parameters: Int64...) throws(StoreError) -> StoreStatement {
    try translatingErrors { () throws(SQLiteError) in
      let statement = StoreStatement(try connection.statement(sql))
      for (index, parameter) in parameters.enumerated() { try statement.base.bind(parameter, at: index + 1) }
      return statement
    }
  }

  /// Returns a cached statement for the entries next to a position in a collection's order.
  ///
  /// - Parameter others: The parameters after the collection, the position and the ID.
  package func statement(
    _ sql: String, in collection: UInt32, at position: DocumentPosition, _ others: Int64...
  ) throws(StoreError) -> StoreStatement {
    try translatingErrors { () throws(SQLiteError) in
      let statement = StoreStatement(try connection.statement(sql))
      try statement.base.bind(Int64(collection), at: 1)
      try statement.base.bind(position.bytes, at: 2)
      for (index, other) in others.enumerated() { try statement.base.bind(other, at: index + 3) }
      return statement
    }
  }

  package func execute(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws(StoreError) {
    try translatingErrors { () throws(SQLiteError) in
      let statement = try connection.statement(sql)
      try statement.bind(all: parameters)
      try statement.run()
    }
  }

  /// Returns all rows of a query with few rows.
  package func rows(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws(StoreError) -> [SQLiteRow] {
    try translatingErrors { () throws(SQLiteError) in try connection.query(sql, parameters: parameters).rows }
  }

  /// Returns the first column of the first row, or `nil` if the row is missing or the column isn't an integer.
  package func integer(_ sql: String, _ parameters: Int64?...) throws(StoreError) -> Int64? {
    try translatingErrors { () throws(SQLiteError) in
      let statement = try connection.statement(sql)
      try statement.bind(all: parameters)
      defer { statement.reset() }
      guard try statement.step(), statement.storageClass(at: 0) == .integer else { return nil }
      return statement.int64(at: 0)
    }
  }

  /// Returns all rows of a query with few rows and short values.
  ///
  /// - Parameter byteCount: The maximum length of a value. Longer values aren't read.
  /// - Throws: `damaged` for a longer value.
  package func rows(_ sql: String, ofAtMost byteCount: Int) throws(StoreError) -> [SQLiteRow] {
    do throws(SQLiteError) {
      let usual = try connection.setLimit(length: byteCount)
      defer { _ = try? connection.setLimit(length: usual) }
      return try connection.query(sql).rows
    } catch {
      throw error.code == .tooBig ? .damagedStore("a value is longer than the format allows") : StoreError(error)
    }
  }

  /// Steps through a query's rows.
  ///
  /// Check each row in `body` if the query can have many rows, because a malicious file can return a row any number of
  /// times.
  ///
  /// - Parameter body: Returns `false` to stop.
  package func forEachRow(
    _ sql: String, _ parameters: [Int64] = [], _ body: (StoreStatement) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let statement = try translatingErrors { () throws(SQLiteError) in try connection.statement(sql) }
    defer { statement.reset() }
    for (index, parameter) in parameters.enumerated() { try StoreStatement(statement).bind(parameter, at: index + 1) }
    while try StoreStatement(statement).step(), try body(StoreStatement(statement)) {}
  }

  // MARK: Walks

  /// Returns the maximum number of rows that fit in the file.
  package func maximumRowCount() throws(StoreError) -> Int64 {
    try translatingErrors { () throws(SQLiteError) in
      let pageCount = try connection.integerPragma("page_count") ?? 0
      let pageSize = try connection.integerPragma("page_size") ?? 0
      // Every row takes more than eight bytes.
      return pageCount * pageSize / 8
    }
  }

  /// Returns whether walks over these trees end, because a malicious file's pages can prevent that. Counts all rows.
  package func isFinite(_ trees: SQL.Tree...) throws(StoreError) -> Bool {
    let limit = try maximumRowCount()
    for tree in trees {
      guard let count = try integer(SQL.count(of: tree), limit), count < limit else { return false }
    }
    return true
  }

  // MARK: Transactions

  package func begin(_ kind: Database.TransactionKind) throws(StoreError) {
    try translatingErrors { () throws(SQLiteError) in try connection.begin(kind) }
  }

  package func commit() throws(StoreError) {
    try translatingErrors(connection.commit)
  }

  /// Rolls back the transaction, unless an error already rolled it back.
  package func rollback() {
    try? connection.rollback()
  }

  package var isInTransaction: Bool { connection.isInTransaction }

  /// Runs `body`, which must only read, in the open transaction, or otherwise in a new transaction.
  package func reading<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    guard !isInTransaction else { return try body() }
    try begin(.deferred)
    defer { rollback() }
    return try body()
  }
}

/// A compiled statement that throws ``StoreError``.
package struct StoreStatement {
  package let base: Statement

  package init(_ base: Statement) {
    self.base = base
  }

  /// Steps to the next row, or returns `false` at the end.
  @inline(__always)
  package func step() throws(StoreError) -> Bool {
    do throws(SQLiteError) { return try base.step() } catch { throw StoreError(error) }
  }

  package func bind(_ value: Int64, at index: Int) throws(StoreError) {
    do throws(SQLiteError) { try base.bind(value, at: index) } catch { throw StoreError(error) }
  }

  /// Binds bytes without copying them, so they must remain valid until the statement is stepped.
  package func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: Int) throws(StoreError) {
    do throws(SQLiteError) { try base.bindBlob(bytes, at: index) } catch { throw StoreError(error) }
  }

  /// Returns the blob that a statement selects by ID, or `nil` if it's missing. Valid until the next step or reset.
  package func blob(of id: Int64) throws(StoreError) -> UnsafeRawBufferPointer? {
    base.reset()
    try bind(id, at: 1)
    return try step() ? blob(at: 0) : nil
  }

  /// Returns a blob, or `nil` if the column isn't one. Valid until the next step or reset.
  package func blob(at column: Int) -> UnsafeRawBufferPointer? {
    base.storageClass(at: column) == .blob ? base.blobPointer(at: column) : nil
  }

  /// Returns copies of the row's columns.
  package func values() throws(StoreError) -> [SQLiteValue] {
    do throws(SQLiteError) { return try base.values() } catch { throw StoreError(error) }
  }

  package func reset() { base.reset() }
  package func int64(at column: Int) -> Int64 { base.int64(at: column) }
  /// Returns a position, or `nil` if the column isn't a blob of 1 to 255 bytes.
  package func position(at column: Int) -> DocumentPosition? {
    base.storageClass(at: column) == .blob ? DocumentPosition(copying: base.blobPointer(at: column)) : nil
  }
  package func isNull(at column: Int) -> Bool { base.isNull(at: column) }
  /// Returns the row's columns, which are valid until the next step or reset.
  package func columns() -> UnsafeBufferPointer<StoredColumn> { base.columns() }
}

extension Database.Configuration {
  /// Returns the configuration of a connection to a store, which compiles only the kinds of statements that the library
  /// uses.
  ///
  /// - Parameter wait: The maximum time to wait for a lock, or `nil` to wait indefinitely.
  package static func ofStore(wait: Duration?, lengthLimit: Int? = nil) -> Self {
    var configuration = Self(
      busyTimeout: wait, isHardened: true, enforcesForeignKeys: false, lengthLimit: lengthLimit)
    configuration.rule = StatementRule(
      functions: ["count", "max", "min", "typeof", "length", "coalesce", "sum"],
      pragmas: [
        "application_id", "auto_vacuum", "cache_size", "checkpoint_fullfsync", "data_version", "encoding",
        "freelist_count", "fullfsync", "integrity_check", "journal_mode", "journal_size_limit", "page_count",
        "page_size", "schema_version", "secure_delete", "synchronous", "temp_store", "user_version",
        "wal_autocheckpoint", "wal_checkpoint",
      ],
      writablePrefix: "coffer_")
    return configuration
  }
}
