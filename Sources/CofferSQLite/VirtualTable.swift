/// A table whose rows the program generates on demand. It's read-only and doesn't have a stored schema.
package protocol VirtualTable: AnyObject {
  /// The columns. A column's number is its index in this array.
  var columns: [VirtualColumn] { get }

  /// The name of the column that identifies rows, or `nil` if the rows have row IDs.
  var primaryKey: String? { get }

  /// Returns the best plan for reading the rows with these conditions.
  func plan(for request: VirtualTableRequest) -> VirtualTablePlan

  /// Begins reading with a plan.
  ///
  /// - Parameters:
  ///   - plan: The plan's number.
  ///   - values: The values of the plan's arguments, in order. Text that isn't valid Unicode is NULL.
  func open(plan: Int, values: [SQLiteValue]) throws -> any VirtualRows
}

/// A cursor on a virtual table, initially before its first row.
package protocol VirtualRows: AnyObject {
  /// Advances to the next row. Returns `false` after the last row.
  func next() throws -> Bool

  /// The row's ID, which isn't used for a table with a primary key.
  var rowID: Int64 { get }

  /// The number of following rows that equal the current row in every column that the query reads. These rows are
  /// counted without calling ``next()``. SQLite gets this number after each ``next()`` call that returned `true`.
  var repeatCount: Int64 { get }

  /// The text column shared by the current row and its repetitions. SQLite receives it without calling ``give(_:to:)``.
  var repeatedText: VirtualText? { get }

  /// Writes the current row's value in a column to `result`.
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

/// UTF-8 in a column, which must remain at the same address until the statement is reset.
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
  /// The type as in CREATE TABLE. With a trailing `HIDDEN`, `SELECT *` omits the column.
  package let declaredType: String

  package init(_ name: String, _ declaredType: String) {
    self.name = name
    self.declaredType = declaredType
  }
}

/// The constraints, order and columns that a query requests from a virtual table.
package struct VirtualTableRequest: Sendable {
  /// A condition on a column that the table may use to select rows. SQLite rechecks it unless the plan is exact.
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

  /// The conditions whose other side is known. Texts are compared byte by byte.
  package let conditions: [Condition]
  package let order: [(column: Int, isDescending: Bool)]
  /// A bit for each used column. The last bit covers all further columns.
  package let usedColumns: UInt64
}

package struct VirtualTablePlan: Sendable {
  /// The number passed to `open(plan:values:)`, which is at least 0.
  package var number: Int
  /// The numbers of the conditions whose values `open(plan:values:)` receives.
  package var arguments: [Int] = []
  /// The numbers of the arguments that the table applies exactly like SQLite, so SQLite doesn't need to check them.
  package var exactArguments: [Int] = []
  /// Whether the rows are in the requested order.
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
