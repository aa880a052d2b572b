internal import CCofferSQLite
internal import CofferPlatform

// For untrusted SQL.

extension Database {
  /// From now on statements may read, and nothing else: no change, no transaction, no ATTACH, no PRAGMA, and none of
  /// the functions that reach out of SQLite. Others throw `notAllowed` when they are compiled.
  ///
  /// - Parameter rule: asked about the tables; it must live as long as this connection.
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
          // Asked when a virtual table says what its columns are; a statement can't change this table anyway.
          case SQLITE_UPDATE: return table.map { strcmp($0, "sqlite_master") } == 0 ? SQLITE_OK : SQLITE_DENY
          case SQLITE_FUNCTION:
            guard let name = detail.map({ String(cString: $0) }), Database.isHarmless(name) else { return SQLITE_DENY }
            return rule?.mayCall(name, view.map { String(cString: $0) }) == false ? SQLITE_DENY : SQLITE_OK
          default: return SQLITE_DENY
          }
        }, rule.map { Unmanaged.passUnretained($0).toOpaque() }))
  }

  /// False for what loads code, takes addresses, or writes to the log.
  private static func isHarmless(_ function: String) -> Bool {
    !["load_extension", "fts3_tokenizer", "sqlite_log"].contains(function.lowercased())
  }

  /// Keeps what sorting and grouping put aside in memory, never in a file.
  ///
  /// - Throws: `notAllowed` where this SQLite was built to use files in any case.
  package func keepTemporariesInMemory() throws(SQLiteError) {
    try statement("PRAGMA temp_store = MEMORY").run()
    let usesFiles = sqlite3_compileoption_used("TEMP_STORE=0") != 0
    guard !usesFiles, try integerPragma("temp_store") == 2 else {
      throw SQLiteError(.notAllowed, "this SQLite sorts in files, and no setting prevents it")
    }
  }

  /// Whether a condition is polled while statements run.
  package var hasStopCondition: Bool { connection.stopCondition != nil }

  /// Polls a condition while a statement runs, which ends with `interrupted` if it is true; nil removes it.
  package func setStopCondition(_ shouldStop: (@Sendable () -> Bool)?) throws(SQLiteError) {
    try connection.setStopCondition(shouldStop)
  }
}

/// The tables and functions that statements of a reading connection may use.
package final class ReadingRule {
  /// Statements of the program itself are compiled: everything is allowed.
  package private(set) var isLifted = false
  /// Whether a statement may read a table of the main database.
  private let mayRead: (Reading) -> Bool
  /// Whether a statement may call a function within a view, or outside of any.
  package var mayCall: (_ function: String, _ view: String?) -> Bool
  /// The views that statements read which were compiled since this was emptied.
  package var views: Set<String> = []
  /// The tables of the main database that they read, in views or not.
  package var tables: Set<String> = []
  /// Those of them that they read in no view, or that no view is known of.
  package var tablesOutsideViews: Set<String> = []

  /// A table that a statement reads.
  package struct Reading {
    package let table: String
    /// The view, or expression of WITH, that names the table; nil if none does, or if no column is read.
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

  /// Allows everything while `work` runs.
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

/// A closure as SQLite can hold it.
final class StopCondition {
  /// About so many steps of SQLite's machine lie between two questions.
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
