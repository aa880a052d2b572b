/// A table whose rows the program generates on demand: read-only, without a stored schema.
package protocol VirtualTable: AnyObject {
  /// A column's number is its index here.
  var columns: [VirtualColumn] { get }

  /// The name of the column that tells rows apart; nil for a table whose rows have row ids.
  var primaryKey: String? { get }

  /// The best way to read the rows under these conditions.
  func plan(for request: VirtualTableRequest) -> VirtualTablePlan

  /// Begins to read by a plan.
  ///
  /// - Parameters:
  ///   - plan: the plan's number.
  ///   - values: the values of the plan's arguments, in order; text that is not valid Unicode is NULL.
  func open(plan: Int, values: [SQLiteValue]) throws -> any VirtualRows
}

/// A cursor on a virtual table, initially before its first row.
package protocol VirtualRows: AnyObject {
  /// Advances to the next row; false if there is none.
  func next() throws -> Bool

  /// Not asked of a table with a primary key.
  var rowID: Int64 { get }

  /// The number of rows that follow and equal the row at hand in every column that the query reads: they are counted
  /// without calls of ``next()``. Asked for after each call of ``next()`` that returned true.
  var repeatCount: Int64 { get }

  /// Text column shared by the current row and its repetitions; SQLite receives it without a call of ``give(_:to:)``.
  var repeatedText: VirtualText? { get }

  /// Writes the value of a column of the current row to `result`.
  func give(_ column: Int, to result: VirtualResult) throws
}

extension VirtualTable {
  package var primaryKey: String? { nil }
}

extension VirtualRows {
  package var rowID: Int64 { 0 }
  package var repeatCount: Int64 { 0 }
  package var repeatedText: VirtualText? { nil }
}

/// UTF-8 in a column, which must stay where it is until the statement is reset.
package struct VirtualText {
  package let column: Int
  package let utf8: UnsafeRawBufferPointer

  package init(column: Int, utf8: UnsafeRawBufferPointer) {
    self.column = column
    self.utf8 = utf8
  }
}

package struct VirtualColumn: Sendable {
  package let name: String
  /// As in CREATE TABLE; with `HIDDEN` behind it, `SELECT *` leaves the column out.
  package let declaredType: String

  package init(_ name: String, _ declaredType: String) {
    self.name = name
    self.declaredType = declaredType
  }
}

/// The constraints, order and columns that a query requests of a virtual table.
package struct VirtualTableRequest: Sendable {
  /// A condition on a column that the table may use to select rows; SQLite checks it again unless the plan is exact.
  package struct Condition: Sendable {
    package enum Comparison: Sendable {
      case equal, less, lessOrEqual, greater, greaterOrEqual
      case match
    }

    /// The condition's number, for the plan's arguments.
    package let number: Int
    package let column: Int
    package let comparison: Comparison
  }

  /// Conditions whose other side is known, texts compared byte by byte.
  package let conditions: [Condition]
  package let order: [(column: Int, isDescending: Bool)]
  /// A bit for each used column; the last bit covers all columns from there on.
  package let usedColumns: UInt64
}

package struct VirtualTablePlan: Sendable {
  /// The number passed to `open(plan:values:)`; at least 0.
  package var number: Int
  /// The numbers of the conditions whose values `open(plan:values:)` receives.
  package var arguments: [Int] = []
  /// The numbers of the arguments that the table applies exactly as SQLite does, so that SQLite needs not check them.
  package var exactArguments: [Int] = []
  /// The rows are in the requested order.
  package var isOrdered = false
  /// Whether there is at most one row.
  package var isUnique = false
  package var cost: Double
  package var rowCount: Int64

  package init(number: Int, cost: Double, rowCount: Int64) {
    self.number = number
    self.cost = cost
    self.rowCount = rowCount
  }
}
