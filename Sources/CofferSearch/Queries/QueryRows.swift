internal import CofferEngine
public import CofferRecords
public import CofferSQLite

/// A query's rows, one at a time. They're valid only within the closure that receives this value.
public struct QueryRows: ~Copyable {
  /// The column names in the statement's order.
  public let columnNames: [String]
  /// The declared type of each column, or `nil` for expressions.
  public let declaredTypes: [String?]
  private let statement: Statement
  private let view: QueryView
  private let transaction: StoreTransaction
  private let nested: NestedDecoding
  private var columns: Columns?

  init(_ statement: Statement, _ view: QueryView, _ transaction: StoreTransaction) {
    self.statement = statement
    self.view = view
    self.transaction = transaction
    nested = QueryRunner(transaction).nestedDecoding
    columnNames = statement.columnNames
    declaredTypes = (0..<statement.columnCount).map(statement.declaredType)
  }

  /// Returns the next row, or `nil` at the end.
  ///
  /// - Throws: `queryFailed`, `damaged`, `closed`, or `cancelled` if the task is canceled or over the time limit.
  public mutating func next() throws(StoreError) -> SQLiteRow? {
    if let stop = view.table.stop { throw stop }
    do throws(SQLiteError) {
      return try statement.step() ? try statement.row(&columns, decoding: nested) : nil
    } catch {
      throw QueryRunner(transaction).error(ofQuery: error, view, isRunning: true)
    }
  }

  /// Returns the next row decoded from columns named like the type's members, or `nil` at the end.
  ///
  /// - Throws: `notDecodable` with the column and both types, or the errors of ``next()``.
  public mutating func next<Value: Decodable>(as type: Value.Type) throws(StoreError) -> Value? {
    guard let row = try next() else { return nil }
    return try translatingErrors { () throws(SQLiteError) in try row.decoded(as: type) }
  }
}
