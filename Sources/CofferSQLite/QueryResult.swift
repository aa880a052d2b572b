/// The effect of a statement without rows.
public struct Execution: Sendable, Hashable {
  /// Rows inserted, updated and deleted by the statements themselves, not by triggers or foreign keys.
  public let rowsAffected: Int
  /// The rowid of the last row inserted; nil if no row was.
  public let insertedID: Int64?
}

/// The complete result of a query, in memory: a collection of its rows.
///
/// ```swift
/// for row in try database.query("SELECT title, price FROM item") { print(try row["price", as: Double.self]) }
/// ```
public struct QueryResult: Sendable {
  /// The rows in the order of the statement; empty for a statement without rows.
  public let rows: [SQLiteRow]
  /// Rows inserted, updated and deleted by the statement itself; 0 for a SELECT.
  public let rowsAffected: Int
  /// The rowid of the last row that the statement inserted; nil if it inserted none.
  public let insertedID: Int64?
  let columns: Columns

  init(columns: Columns, rows: [SQLiteRow], rowsAffected: Int, insertedID: Int64?) {
    self.columns = columns
    self.rows = rows
    self.rowsAffected = rowsAffected
    self.insertedID = insertedID
  }

  /// The names of the columns, in their order, also without any row.
  public var columnNames: [String] { columns.names }

  /// The declared type of each column; nil for an expression.
  public var declaredTypes: [String?] { columns.declaredTypes }
}

extension QueryResult: Equatable {
  public static func == (left: QueryResult, right: QueryResult) -> Bool {
    left.rows == right.rows && left.columnNames == right.columnNames && left.rowsAffected == right.rowsAffected
      && left.insertedID == right.insertedID
  }
}

extension QueryResult: RandomAccessCollection {
  public var startIndex: Int { rows.startIndex }
  public var endIndex: Int { rows.endIndex }
  public subscript(position: Int) -> SQLiteRow { rows[position] }
}

/// One row of a result.
public struct SQLiteRow: Sendable {
  /// In the order of the columns.
  public let values: [SQLiteValue]
  let columns: Columns

  init(values: [SQLiteValue], columns: Columns) {
    self.values = values
    self.columns = columns
  }

  /// The names of the columns, in their order.
  public var columnNames: [String] { columns.names }

  /// The value in a column, counted from 0.
  public subscript(column: Int) -> SQLiteValue { values[column] }

  /// The value in the first column of that name, case as in the statement; nil if there is no such column.
  public subscript(name: String) -> SQLiteValue? {
    columns.index(of: name).map { values[$0] }
  }

  /// The value in the first column of that name, as a type of Swift.
  ///
  /// Nothing is converted: an integer is no text, and NULL is only an optional type's nil. An integer is a `Double`,
  /// too, and 0 and 1 are a `Bool`.
  ///
  /// - Throws: `notDecodable`, which names the column and both types, if there is no such column or its value is of
  ///   another type.
  public subscript<Value: SQLiteValueReadable>(name: String, as type: Value.Type) -> Value {
    get throws(SQLiteError) {
      guard let index = columns.index(of: name) else { throw .noColumn(name, as: type) }
      guard let value = Value(sqliteValue: values[index]) else {
        throw .wrongType(values[index].storageClass, in: name, as: type)
      }
      return value
    }
  }
}

extension SQLiteRow: Hashable {
  public static func == (left: SQLiteRow, right: SQLiteRow) -> Bool {
    left.values == right.values && left.columns.names == right.columns.names
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

/// The columns, shared by all rows of a result.
package final class Columns: Sendable {
  let names: [String]
  let declaredTypes: [String?]
  let nested: NestedDecoding?

  init(_ statement: Statement, _ nested: NestedDecoding?) {
    names = statement.columnNames
    declaredTypes = (0..<statement.columnCount).map(statement.declaredType)
    self.nested = nested
  }

  /// The first column of that name. Most results have a few columns, where a search is the quickest way.
  func index(of name: String) -> Int? { names.firstIndex(of: name) }
}

extension SQLiteError {
  static func noColumn(_ name: String, as type: Any.Type) -> SQLiteError {
    SQLiteError(
      .notDecodable, "the result has no column \(name), where a \(type) is wanted",
      hint: "name the column with AS; case counts")
  }

  static func wrongType(_ found: StorageClass, in column: String, as type: Any.Type) -> SQLiteError {
    SQLiteError(
      .notDecodable, "the column \(column) has \(found.described), where a \(type) is wanted",
      hint: found == .null ? "ask for an optional type where a column may be NULL" : nil)
  }
}

extension StorageClass {
  fileprivate var described: String {
    switch self {
    case .null: "NULL"
    case .integer: "an integer"
    case .real: "a real number"
    case .text: "a text"
    case .blob: "a blob"
    }
  }
}
