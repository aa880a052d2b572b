/// The effect of one or more statements without result rows.
public struct Execution: Sendable, Hashable {
  /// The number of rows that the statements themselves inserted, updated and deleted, without changes by triggers or
  /// foreign keys.
  public let rowsAffected: Int
  /// The rowid of the last inserted row, or `nil` if the statements didn't insert rows.
  public let insertedID: Int64?
}

/// A query's complete result in memory, as a collection of rows.
///
/// ```swift
/// for row in try database.query("SELECT title, price FROM item") { print(try row["price", as: Double.self]) }
/// ```
public struct QueryResult: Sendable {
  /// The rows in the statement's order, or an empty array if the statement doesn't return rows.
  public let rows: [SQLiteRow]
  /// The number of rows that the statement itself inserted, updated and deleted, or 0 for a SELECT.
  public let rowsAffected: Int
  /// The rowid of the last inserted row, or `nil` if the statement didn't insert rows.
  public let insertedID: Int64?
  let columns: Columns

  init(columns: Columns, rows: [SQLiteRow], rowsAffected: Int, insertedID: Int64?) {
    self.columns = columns
    self.rows = rows
    self.rowsAffected = rowsAffected
    self.insertedID = insertedID
  }

  /// The column names in order, even if the result is empty.
  public var columnNames: [String] { columns.names }

  /// The declared type of each column, or `nil` for an expression.
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

/// A row in a result.
public struct SQLiteRow: Sendable {
  /// The values in column order.
  public let values: [SQLiteValue]
  let columns: Columns

  init(values: [SQLiteValue], columns: Columns) {
    self.values = values
    self.columns = columns
  }

  /// The column names in order.
  public var columnNames: [String] { columns.names }

  /// The value in a column. Columns are numbered from 0.
  public subscript(column: Int) -> SQLiteValue { values[column] }

  /// The value in the first column with a name, or `nil` if the column doesn't exist. The name must have the same case
  /// as in the statement.
  public subscript(name: String) -> SQLiteValue? {
    columns.index(of: name).map { values[$0] }
  }

  /// The value in the first column with a name, as a Swift type.
  ///
  /// Values aren't converted. For example, you can't read an integer as a text, and you can read NULL only as `nil`
  /// with an optional type. However, you can read an integer as a `Double` that's equal to it, and 0 and 1 as a `Bool`.
  ///
  /// - Throws: `notDecodable`, with the column's name and the types, if the column doesn't exist or its value has
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

/// The columns, which all rows in a result share.
package final class Columns: Sendable {
  let names: [String]
  let declaredTypes: [String?]
  let nested: NestedDecoding?

  init(_ statement: Statement, _ nested: NestedDecoding?) {
    names = statement.columnNames
    declaredTypes = (0..<statement.columnCount).map(statement.declaredType)
    self.nested = nested
  }

  /// Returns the index of the first column with a name. A linear search is fastest, because most results have few
  /// columns.
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
