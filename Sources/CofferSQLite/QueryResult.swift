/// The effect of a statement without rows.
public struct Execution: Sendable, Hashable {
  /// Rows inserted, updated and deleted by the statements themselves, not by triggers or foreign keys.
  public let rowsAffected: Int
  /// The rowid of the last row inserted, nil if none was.
  public let insertedID: Int64?
}

/// All that a query gave, in memory.
public struct QueryResult: Sendable {
  public let columnNames: [String]
  /// The type each column was declared with; nil for an expression.
  public let declaredTypes: [String?]
  public let rows: [Row]
  /// As in ``Execution``; not 0 for a statement with RETURNING.
  public let rowsAffected: Int
  /// As in ``Execution``.
  public let insertedID: Int64?
}

/// One row of a result.
public struct Row: Sendable {
  /// In the order of the columns.
  public let values: [Value]
  private let columns: Columns

  init(values: [Value], columns: Columns) {
    self.values = values
    self.columns = columns
  }

  public var columnNames: [String] { columns.names }

  /// The value in a column, counted from 0.
  public subscript(column: Int) -> Value { values[column] }

  /// The value in the first column of that name, capitals as in the statement; nil if there is no such column.
  public subscript(name: String) -> Value? {
    columns.indexes[name].map { values[$0] }
  }
}

extension Row: Hashable {
  public static func == (left: Row, right: Row) -> Bool {
    left.values == right.values && left.columns.names == right.columns.names
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

/// The names that all rows of a result share.
final class Columns: Sendable {
  let names: [String]
  let indexes: [String: Int]

  init(_ names: [String]) {
    self.names = names
    indexes = Dictionary(zip(names, 0...), uniquingKeysWith: { first, _ in first })
  }
}
