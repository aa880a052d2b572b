internal import CCofferSQLite
internal import CofferPlatform

// Restrictions for untrusted SQL.

extension Database {
  /// Restricts subsequent statements to reading.
  ///
  /// Statements can't change data, use transactions, ATTACH or PRAGMA, or call functions that reach outside SQLite.
  /// Such statements throw `notAllowed` when they're compiled.
  ///
  /// - Parameter rule: Decides about tables and functions, and must live as long as this connection. With `nil`,
  ///   statements may read all tables.
  package func allowReadingOnly(_ rule: ReadingRule? = nil) throws(SQLiteError) {
    try connection.check(
      sqlite3_set_authorizer(
        try connection.open(),
        { rule, action, table, detail, database, view in
          let rule = rule.map { Unmanaged<ReadingRule>.fromOpaque($0).takeUnretainedValue() }
          if rule?.isLifted == true { return SQLITE_OK }
          switch action {
          case SQLITE_SELECT, SQLITE_RECURSIVE: return SQLITE_OK
          case SQLITE_READ:
            guard let rule, let table, let database, strcmp(database, "main") == 0 else { return SQLITE_OK }
            return rule.mayRead(
              String(cString: table), in: view.map { String(cString: $0) },
              hasColumn: detail.map { $0.pointee != 0 } ?? false) ? SQLITE_OK : SQLITE_DENY
          // SQLite asks this when a virtual table declares its columns. Statements can't change this table anyway.
          case SQLITE_UPDATE: return table.map { strcmp($0, "sqlite_master") } == 0 ? SQLITE_OK : SQLITE_DENY
          case SQLITE_FUNCTION:
            guard let name = detail.map({ String(cString: $0) }), Database.isHarmless(name) else { return SQLITE_DENY }
            return rule?.mayCall(name, view.map { String(cString: $0) }) == false ? SQLITE_DENY : SQLITE_OK
          default: return SQLITE_DENY
          }
        }, rule.map { Unmanaged.passUnretained($0).toOpaque() }))
  }

  /// Returns `false` for functions that load code, take addresses, or write to the log.
  private static func isHarmless(_ function: String) -> Bool {
    !["load_extension", "fts3_tokenizer", "sqlite_log"].contains(function.lowercased())
  }

  /// Stores temporary data for sorting and grouping in memory, never in a file.
  ///
  /// - Throws: `notAllowed` if this SQLite was built to always use files.
  package func keepTemporariesInMemory() throws(SQLiteError) {
    try statement("PRAGMA temp_store = MEMORY").run()
    let usesFiles = sqlite3_compileoption_used("TEMP_STORE=0") != 0
    guard !usesFiles, try integerPragma("temp_store") == 2 else {
      throw SQLiteError(.notAllowed, "this SQLite sorts in files, and no setting prevents it")
    }
  }

  /// Whether a condition is polled while statements run.
  package var hasStopCondition: Bool { connection.stopCondition != nil }

  /// Polls a condition while statements run or wait for a lock. If it's `true`, the statement throws `interrupted`.
  /// Pass `nil` to remove it.
  package func setStopCondition(_ shouldStop: (@Sendable () -> Bool)?) throws(SQLiteError) {
    try connection.setStopCondition(shouldStop)
    connection.waiter.shouldStop = shouldStop
  }
}

/// The tables and functions that statements may use in a connection for reading.
package final class ReadingRule {
  /// Whether all actions are allowed, because the program's own statements are being compiled.
  package private(set) var isLifted = false
  /// Whether a statement may read a table in the main database.
  private let mayRead: (Reading) -> Bool
  /// Whether a statement may call a function in a view, or outside views if the view is `nil`.
  package var mayCall: (_ function: String, _ view: String?) -> Bool
  /// The views that statements read, if the statements were compiled since this set was emptied.
  package var views: Set<String> = []
  /// The main database's tables that these statements read, in or outside views.
  package var tables: Set<String> = []
  /// The tables that these statements read outside views, or in an unknown view.
  package var tablesOutsideViews: Set<String> = []

  /// A table that a statement reads.
  package struct Reading {
    package let table: String
    /// The view or WITH expression that names the table, or `nil` if the statement itself names the table or doesn't
    /// read columns.
    package let view: String?
    package let hasColumn: Bool
  }

  package init(
    mayRead: @escaping (Reading) -> Bool = { _ in true },
    mayCall: @escaping (_ function: String, _ view: String?) -> Bool = { _, _ in true }
  ) {
    self.mayRead = mayRead
    self.mayCall = mayCall
  }

  /// Allows all actions while `work` runs.
  package func lifting<R, E: Error>(_ work: () throws(E) -> R) throws(E) -> R {
    let before = isLifted
    isLifted = true
    defer { isLifted = before }
    return try work()
  }

  fileprivate func mayRead(_ table: String, in view: String?, hasColumn: Bool) -> Bool {
    tables.insert(table)
    if let view { views.insert(view) } else { tablesOutsideViews.insert(table) }
    return mayRead(Reading(table: table, view: view, hasColumn: hasColumn))
  }
}

/// A closure in an object that SQLite can refer to.
final class StopCondition {
  /// The approximate number of virtual machine instructions that SQLite runs between two polls.
  static let interval: Int32 = 1000

  let shouldStop: @Sendable () -> Bool

  init(_ shouldStop: @escaping @Sendable () -> Bool) { self.shouldStop = shouldStop }
}

extension Connection {
  func setStopCondition(
    every steps: Int32 = StopCondition.interval, _ shouldStop: (@Sendable () -> Bool)?
  ) throws(SQLiteError) {
    let handle = try open()
    stopCondition = shouldStop.map(StopCondition.init)
    guard let stopCondition else { return sqlite3_progress_handler(handle, 0, nil, nil) }
    sqlite3_progress_handler(
      handle, steps,
      { Unmanaged<StopCondition>.fromOpaque($0!).takeUnretainedValue().shouldStop() ? 1 : 0 },
      Unmanaged.passUnretained(stopCondition).toOpaque())
  }
}
