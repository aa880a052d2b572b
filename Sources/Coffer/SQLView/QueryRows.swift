internal import CofferRecords
public import CofferSQLite

/// The rows of a query, one at a time. Valid only during the call of the closure that receives it.
public struct QueryRows: ~Copyable {
  /// The names of the columns, in the order of the statement.
  public let columnNames: [String]
  /// The type of each column of the view; nil for an expression.
  public let declaredTypes: [String?]
  private let statement: Statement
  private let view: QueryView
  private let transaction: StoreTransaction
  private var columns: Columns?

  init(_ statement: Statement, _ view: QueryView, _ transaction: StoreTransaction) {
    self.statement = statement
    self.view = view
    self.transaction = transaction
    columnNames = statement.columnNames
    declaredTypes = (0..<statement.columnCount).map(statement.declaredType)
  }

  /// The next row, nil when there is none.
  ///
  /// - Throws: `queryFailed`, `damaged`, `cancelled` after the time limit, `closed`.
  public mutating func next() throws(StoreError) -> SQLiteRow? {
    guard !view.table.isClosed else { throw .storeClosed }
    do throws(SQLiteError) {
      return try statement.step() ? try statement.row(&columns, decoding: NestedValues.decode) : nil
    } catch {
      throw transaction.error(ofQuery: error, view, isRunning: true)
    }
  }

  /// The next row as a value of a `Decodable` type, nil when there is none; a column for each member, by name.
  ///
  /// - Throws: `notDecodable`, which names the column and both types, and the errors of ``next()``.
  public mutating func next<Value: Decodable>(as type: Value.Type) throws(StoreError) -> Value? {
    guard let row = try next() else { return nil }
    do throws(SQLiteError) {
      return try row.decoded(as: type)
    } catch {
      throw StoreError(error)
    }
  }
}
