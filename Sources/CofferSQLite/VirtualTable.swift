/// A table whose rows the program generates on demand: read-only, without a stored schema.
package protocol VirtualTable: AnyObject {
  /// In order; a column's number is its place here.
  var columns: [VirtualColumn] { get }

  /// How the rows would be read under these conditions.
  func plan(for request: VirtualTableRequest) -> VirtualTablePlan

  /// Begins to read as a plan said.
  ///
  /// - Parameters:
  ///   - plan: the plan's number.
  ///   - values: of the plan's arguments, in their order; texts that are not valid Unicode are NULL.
  func open(plan: Int, values: [Value]) throws -> any VirtualRows
}

/// A cursor on a virtual table, initially before its first row.
package protocol VirtualRows: AnyObject {
  /// Goes to the next row; false when there is none.
  func next() throws -> Bool

  var rowID: Int64 { get }

  /// Gives the value of a column in the row at hand.
  func give(_ column: Int, to result: VirtualResult) throws
}

package struct VirtualColumn: Sendable {
  package let name: String
  /// As in CREATE TABLE.
  package let declaredType: String

  package init(_ name: String, _ declaredType: String) {
    self.name = name
    self.declaredType = declaredType
  }
}

/// The constraints, order and columns that a query requests of a virtual table.
package struct VirtualTableRequest: Sendable {
  /// A condition on a column that the rows may be chosen by; SQLite checks it again in any case.
  package struct Equality: Sendable {
    /// The condition's number, for the plan's arguments.
    package let number: Int
    package let column: Int
  }

  /// Equalities whose other side is known, compared byte by byte.
  package let equalities: [Equality]
  package let order: [(column: Int, isDescending: Bool)]
  /// A bit for each used column; the last bit covers all columns from there on.
  package let usedColumns: UInt64
}

package struct VirtualTablePlan: Sendable {
  /// The number passed to `open(plan:values:)`; at least 0.
  package var number: Int
  /// Numbers of the equalities whose values it is given.
  package var arguments: [Int] = []
  /// The rows are in the requested order.
  package var isOrdered = false
  /// At most one row.
  package var isUnique = false
  package var cost: Double
  package var rowCount: Int64

  package init(number: Int, cost: Double, rowCount: Int64) {
    self.number = number
    self.cost = cost
    self.rowCount = rowCount
  }
}
