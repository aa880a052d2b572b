import Synchronization
import Testing

@testable import CofferSQLite

/// Tests tables with rows from the program, and guarded connections.
@Suite struct VirtualTableTests {
  private struct Failure: Error {}

  /// A table with the squares of 1 to 10, which can select rows by number.
  private final class Squares: VirtualTable {
    let columns = [VirtualColumn("n", "INTEGER"), VirtualColumn("square", "INTEGER"), VirtualColumn("words", "TEXT")]
    var requests: [VirtualTableRequest] = []
    var isExact = false
    var opened: [[SQLiteValue]] = []
    var failsAt: Int64?

    func plan(for request: VirtualTableRequest) -> VirtualTablePlan {
      requests.append(request)
      guard let equality = request.conditions.first(where: { $0.column == 0 && $0.comparison == .equal }) else {
        return VirtualTablePlan(number: 0, cost: 10, rowCount: 10)
      }
      var plan = VirtualTablePlan(number: 1, cost: 1, rowCount: 1)
      plan.arguments = [equality.number]
      if isExact { plan.exactArguments = plan.arguments }
      return plan
    }

    func open(plan: Int, values: [SQLiteValue]) throws -> any VirtualRows {
      opened.append(values)
      guard plan == 1, case .integer(let number) = values[0] else { return Rows(self, 1, 10) }
      return (1...10).contains(number) ? Rows(self, number, number) : Rows(self, 1, 0)
    }
  }

  private final class Rows: VirtualRows {
    private let table: Squares
    private let last: Int64
    private(set) var rowID: Int64

    init(_ table: Squares, _ first: Int64, _ last: Int64) {
      (self.table, rowID, self.last) = (table, first - 1, last)
    }

    func next() throws -> Bool {
      rowID += 1
      if rowID == table.failsAt { throw Failure() }
      return rowID <= last
    }

    func give(_ column: Int, to result: VirtualResult) throws {
      switch column {
      case 0: result.give(rowID)
      case 1: result.give(rowID * rowID)
      default:
        if rowID == 1 { return }
        if rowID == 2 { result.giveText("") } else { result.giveText("\(rowID)\u{0}é") }
      }
    }
  }

  private func database(_ table: Squares) throws -> Database {
    let database = try emptyDatabase(.init(isHardened: true))
    try database.add(table, named: "squares")
    return database
  }

  @Test func readsRowsOfTable() throws {
    let database = try database(Squares())
    let result = try database.query("SELECT * FROM squares WHERE square < 10")
    #expect(result.columnNames == ["n", "square", "words"])
    #expect(result.rows.map(\.values) == [[1, 1, .null], [2, 4, ""], [3, 9, "3\u{0}é"]])
    #expect(try database.query("SELECT count(*) FROM squares a, squares b WHERE a.n < b.n").rows[0][0] == 45)
  }

  @Test func passesAndRechecksEquality() throws {
    let table = Squares()
    let database = try database(table)
    #expect(try database.query("SELECT square FROM squares WHERE n = ?", 7).rows.map(\.values) == [[49]])
    #expect(table.opened == [[7]])
    #expect(try database.query("SELECT square FROM squares WHERE n = 11").rows.isEmpty)
    // The table returns all rows for an unsuitable value.
    #expect(try database.query("SELECT square FROM squares WHERE n = 'x'").rows.isEmpty)
    #expect(try database.query("SELECT n FROM squares WHERE n IN (3, 5, 5, 30)").rows.map(\.values) == [[3], [5]])
  }

  @Test func skipsRecheckOfExactCondition() throws {
    let table = Squares()
    table.isExact = true
    // The table wrongly returns all rows, because it declares the condition exact.
    #expect(try database(table).query("SELECT count(*) FROM squares WHERE n = 'x'").rows[0][0] == 10)
  }

  @Test func requestsOnlyUsedColumns() throws {
    let table = Squares()
    let database = try database(table)
    _ = try database.query("SELECT square FROM squares ORDER BY n DESC")
    let request = try #require(table.requests.last)
    #expect(request.usedColumns == 0b011)
    #expect(request.order.map(\.column) == [0] && request.order.map(\.isDescending) == [true])
  }

  @Test func passesRangesToTable() throws {
    let table = Squares()
    let database = try database(table)
    let sql = "SELECT square FROM squares WHERE n > 2 AND n <= 5 AND square BETWEEN ? AND ? AND words < 'x'"
    #expect(try database.query(sql, 10, 20).rows.map(\.values) == [[16]])
    let conditions = try #require(table.requests.last).conditions
    #expect(conditions.count == 5)
    let comparisons = Set(conditions.map { "\($0.column) \($0.comparison)" })
    #expect(comparisons == ["0 greater", "0 lessOrEqual", "1 greaterOrEqual", "1 lessOrEqual", "2 less"])
  }

  /// A table that counts its hundred rows instead of returning each row.
  private final class Hundred: VirtualTable {
    final class Rows: VirtualRows {
      let table: Hundred
      private var left = 3
      private(set) var repeatCount: Int64 = 0

      init(_ table: Hundred) { self.table = table }

      func next() throws -> Bool {
        table.calls += 1
        left -= 1
        // The table has 60, 39 and 1 equal rows of three kinds.
        repeatCount = [0, 38, 59][max(left, 0)]
        return left >= 0
      }

      func give(_ column: Int, to result: VirtualResult) throws { result.give(Int64(left)) }
    }

    let columns = [VirtualColumn("kind", "INTEGER"), VirtualColumn("secret", "TEXT HIDDEN")]
    let primaryKey: String? = "kind"
    var calls = 0

    func plan(for request: VirtualTableRequest) -> VirtualTablePlan {
      VirtualTablePlan(number: 0, cost: 100, rowCount: 100)
    }

    func open(plan: Int, values: [SQLiteValue]) throws -> any VirtualRows { Rows(self) }
  }

  @Test func countsEqualRowsWithoutTable() throws {
    let table = Hundred()
    let database = try emptyDatabase(.init(isHardened: true))
    try database.add(table, named: "hundred")
    #expect(try database.query("SELECT count(*) FROM hundred").rows.map(\.values) == [[100]])
    #expect(table.calls == 4)
    #expect(try database.query("SELECT count(*) FROM hundred WHERE kind = 1").rows.map(\.values) == [[39]])
    #expect(try database.query("SELECT kind FROM hundred LIMIT 2").rows.map(\.values) == [[2], [2]])
    #expect(try database.query("SELECT kind FROM hundred LIMIT 1 OFFSET 99").rows.map(\.values) == [[0]])
    let groups = try database.query("SELECT kind, count(*) FROM hundred GROUP BY kind ORDER BY kind")
    #expect(groups.rows.map(\.values) == [[0, 1], [1, 39], [2, 60]])
  }

  /// A table with two kinds of rows, which lends its texts to SQLite without a call for each row.
  private final class Texts: VirtualTable {
    final class Rows: VirtualRows {
      let table: Texts
      private var index = -1
      let repeatCount: Int64 = 2
      var repeatedText: VirtualText? { VirtualText(column: 0, utf8: UnsafeRawBufferPointer(table.texts[index])) }

      init(_ table: Texts) { self.table = table }

      func next() throws -> Bool {
        index += 1
        return index < table.texts.count
      }

      func give(_ column: Int, to result: VirtualResult) throws {
        if column == 0 { table.calls += 1 }
        result.give(Int64(index))
      }
    }

    let columns = [VirtualColumn("word", "TEXT"), VirtualColumn("number", "INTEGER")]
    let texts = ["é\u{0}b", ""].map { text in
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
      bytes.copyBytes(from: text.utf8)
      return bytes
    }
    var calls = 0

    deinit { for text in texts { text.deallocate() } }

    func plan(for request: VirtualTableRequest) -> VirtualTablePlan {
      VirtualTablePlan(number: 0, cost: 6, rowCount: 6)
    }

    func open(plan: Int, values: [SQLiteValue]) throws -> any VirtualRows { Rows(self) }
  }

  @Test func lendsRepeatedTexts() throws {
    let table = Texts()
    let database = try emptyDatabase(.init(isHardened: true))
    try database.add(table, named: "texts")
    let rows = try database.query("SELECT word, number FROM texts").rows.map(\.values)
    #expect(rows == Array(repeating: ["é\u{0}b", 0], count: 3) + Array(repeating: ["", 1], count: 3))
    #expect(try database.query("SELECT count(*) FROM texts WHERE word = ?", "é\u{0}b").rows[0][0] == 3)
    #expect(try database.query("SELECT max(word), min(word) FROM texts").rows[0].values == ["é\u{0}b", ""])
    #expect(table.calls == 0)
  }

  @Test func selectsHiddenColumnsByNameOnly() throws {
    let database = try emptyDatabase(.init(isHardened: true))
    try database.add(Hundred(), named: "hundred")
    #expect(try database.query("SELECT * FROM hundred LIMIT 1").columnNames == ["kind"])
    let result = try database.query("SELECT secret FROM hundred LIMIT 1")
    #expect(result.columnNames == ["secret"] && result.declaredTypes == ["TEXT"])
  }

  @Test func primaryKeyTableLacksRowID() throws {
    let database = try emptyDatabase(.init(isHardened: true))
    try database.add(Hundred(), named: "hundred")
    #expect(throws: error(.sqlLogic)) { try database.query("SELECT rowid FROM hundred") }
  }

  @Test(arguments: [1, 5, 11])
  func tableErrorEndsStatement(_ number: Int64) throws {
    let table = Squares()
    let database = try database(table)
    table.failsAt = number
    #expect(throws: error(.sqlLogic)) { try database.query("SELECT n FROM squares") }
    table.failsAt = nil
    #expect(try database.query("SELECT n FROM squares").rows.count == 10)
  }

  @Test(arguments: [
    "DELETE FROM squares", "INSERT INTO squares VALUES(1, 2, 3)", "DROP TABLE squares",
    "CREATE VIRTUAL TABLE t USING squares",
  ])
  func rejectsChanges(_ sql: String) throws {
    let database = try database(Squares())
    #expect(throws: error(.sqlLogic)) { try database.execute(sql) }
  }

  @Test func releasesTableWithConnection() throws {
    weak var table: Squares?
    do {
      let new = Squares()
      table = new
      let database = try database(new)
      let statement = try database.statement("SELECT n FROM squares")
      try statement.step()
      try database.close()
    }
    #expect(table == nil)
  }

  // MARK: Guarded connections

  @Test(arguments: [
    "SELECT 1", "SELECT * FROM t", "SELECT * FROM json_each('[1]')", "SELECT max(a) FROM t GROUP BY b",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 9) SELECT * FROM n", "EXPLAIN SELECT 1",
    "VALUES(1)", "SELECT * FROM squares",
  ])
  func guardedConnectionReads(_ sql: String) throws {
    let database = try guarded()
    #expect(throws: Never.self) { try database.query(sql) }
  }

  @Test(arguments: [
    "INSERT INTO t VALUES(1, 2)", "PRAGMA user_version", "BEGIN", "ATTACH ':memory:' AS a",
    "CREATE TABLE u(a)", "CREATE TEMP TABLE u(a)", "SELECT * FROM pragma_table_info('t')", "VACUUM INTO 'x.db'",
    "DROP TABLE t", "ALTER TABLE t RENAME TO u", "SELECT load_extension('x')", "SELECT sqlite_log(1, 'x')",
    "UPDATE sqlite_master SET sql = ''", "DELETE FROM sqlite_master", "SAVEPOINT s",
  ])
  func guardedConnectionRejectsOtherStatements(_ sql: String) throws {
    let database = try guarded()
    let code = try #require(thrown { try database.execute(sql) }?.code)
    #expect([.notAllowed, .sqlLogic].contains(code), "\(code)")
    #expect(try database.query("SELECT * FROM t").rows.map(\.values) == [[1, 2]])
  }

  private func guarded() throws -> Database {
    let database = try database(Squares())
    try database.execute("CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 2)")
    try database.keepTemporariesInMemory()
    try database.allowReadingOnly()
    return database
  }

  @Test func stopConditionEndsStatement() throws {
    final class Count: Sendable { let questions = Atomic<Int>(0) }
    let count = Count()
    let database = try emptyDatabase()
    try database.setStopCondition { count.questions.add(1, ordering: .relaxed).newValue > 3 }
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    #expect(throws: error(.interrupted)) { try database.query(endless) }
    #expect(count.questions.load(ordering: .relaxed) == 4)
    try database.setStopCondition(nil)
    #expect(try database.query("SELECT 1").rows.count == 1)
  }
}
