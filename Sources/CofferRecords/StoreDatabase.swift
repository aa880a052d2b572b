package import CofferSQLite

/// A SQLite connection that throws ``StoreError``.
///
/// Only one thread at a time may use it and its statements.
package struct StoreDatabase {
  /// For pragmas, backup and checkpoints, and for code that needs SQLite's error.
  package let connection: Database

  package init(_ connection: Database) {
    self.connection = connection
  }

  /// Runs work on the connection and translates its error.
  @inline(__always)
  package func run<R>(_ work: (Database) throws(SQLiteError) -> R) throws(StoreError) -> R {
    do throws(SQLiteError) {
      return try work(connection)
    } catch {
      throw StoreError(error)
    }
  }

  // MARK: Statements

  /// A statement from the cache, its parameters bound.
  package func statement(_ sql: String, _ parameters: Int64...) throws(StoreError) -> StoreStatement {
    do throws(SQLiteError) {
      let statement = StoreStatement(try connection.statement(sql))
      for (index, parameter) in parameters.enumerated() { try statement.base.bind(parameter, at: index + 1) }
      return statement
    } catch {
      throw StoreError(error)
    }
  }

  package func execute(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws(StoreError) {
    do throws(SQLiteError) {
      let statement = try connection.statement(sql)
      try statement.bind(all: parameters)
      try statement.run()
    } catch {
      throw StoreError(error)
    }
  }

  /// All rows of a query that returns few.
  package func rows(_ sql: String, _ parameters: (any SQLiteValueConvertible)?...) throws(StoreError) -> [SQLiteRow] {
    do throws(SQLiteError) {
      return try connection.query(sql, parameters: parameters).rows
    } catch {
      throw StoreError(error)
    }
  }

  /// The first column of the first row; nil if there is no row, or the column is no integer.
  package func integer(_ sql: String, _ parameters: Int64?...) throws(StoreError) -> Int64? {
    do throws(SQLiteError) {
      let statement = try connection.statement(sql)
      try statement.bind(all: parameters)
      defer { statement.reset() }
      guard try statement.step(), statement.storageClass(at: 0) == .integer else { return nil }
      return statement.int64(at: 0)
    } catch {
      throw StoreError(error)
    }
  }

  /// Steps through the rows of a query.
  ///
  /// - Parameter body: returns false to stop.
  package func forEachRow(
    _ sql: String, _ parameters: [Int64] = [], _ body: (StoreStatement) -> Bool
  ) throws(StoreError) {
    do throws(SQLiteError) {
      let statement = StoreStatement(try connection.statement(sql))
      defer { statement.reset() }
      for (index, parameter) in parameters.enumerated() { try statement.base.bind(parameter, at: index + 1) }
      while try statement.base.step(), body(statement) {}
    } catch {
      throw StoreError(error)
    }
  }

  // MARK: Transactions

  package func begin(_ kind: Database.TransactionKind) throws(StoreError) {
    try run { connection throws(SQLiteError) in try connection.begin(kind) }
  }

  package func commit() throws(StoreError) {
    try run { connection throws(SQLiteError) in try connection.commit() }
  }

  /// Undoes the transaction, unless an error has already undone it.
  package func rollback() {
    try? connection.rollback()
  }

  package var isInTransaction: Bool { connection.isInTransaction }
}

/// A compiled statement that throws ``StoreError``.
package struct StoreStatement {
  package let base: Statement

  package init(_ base: Statement) {
    self.base = base
  }

  /// Steps to the next row; false at the end.
  @inline(__always)
  package func step() throws(StoreError) -> Bool {
    do throws(SQLiteError) { return try base.step() } catch { throw StoreError(error) }
  }

  package func bind(_ value: Int64, at index: Int) throws(StoreError) {
    do throws(SQLiteError) { try base.bind(value, at: index) } catch { throw StoreError(error) }
  }

  /// Binds bytes without a copy: they must stay valid until the statement has been stepped.
  package func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: Int) throws(StoreError) {
    do throws(SQLiteError) { try base.bindBlob(bytes, at: index) } catch { throw StoreError(error) }
  }

  /// Runs a statement that selects a blob by id; nil if there is none. Valid until the next step or reset.
  package func blob(of id: Int64) throws(StoreError) -> UnsafeRawBufferPointer? {
    base.reset()
    try bind(id, at: 1)
    return try step() && base.storageClass(at: 0) == .blob ? base.blobPointer(at: 0) : nil
  }

  package func reset() { base.reset() }
  package func int64(at column: Int) -> Int64 { base.int64(at: column) }
  package func isNull(at column: Int) -> Bool { base.isNull(at: column) }
  /// All columns of the row, valid until the next step or reset.
  package func columns() -> UnsafeBufferPointer<StoredColumn> { base.columns() }
}
