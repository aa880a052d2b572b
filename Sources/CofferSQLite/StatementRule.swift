internal import CCofferSQLite

/// The statements that a connection compiles, for files from strangers. Others throw `notAllowed`.
///
/// SQLite asks while it compiles a statement, also about the views and triggers that a schema adds to it. It doesn't ask
/// about the expressions of generated columns, CHECK constraints and indexes, which can therefore call only these
/// functions, too (``ReplacedFunctions``).
package struct StatementRule: Sendable {
  /// The functions that statements call, in lower case.
  package var functions: Set<String>
  /// The pragmas, in lower case.
  package var pragmas: Set<String>
  /// The beginning of the names of all tables and indexes that statements may write, make and drop, or `nil` for a
  /// connection that only reads.
  package var writablePrefix: String?

  package init(functions: Set<String>, pragmas: Set<String>, writablePrefix: String? = nil) {
    (self.functions, self.pragmas, self.writablePrefix) = (functions, pragmas, writablePrefix)
  }

  /// Returns whether a statement may do one act.
  fileprivate func allows(_ action: Int32, _ first: String?, _ second: String?) -> Bool {
    switch action {
    case SQLITE_SELECT, SQLITE_READ, SQLITE_RECURSIVE, SQLITE_TRANSACTION: true
    case SQLITE_SAVEPOINT: writablePrefix != nil
    case SQLITE_PRAGMA: pragmas.contains(first?.lowercased() ?? "")
    case SQLITE_FUNCTION: functions.contains(second?.lowercased() ?? "")
    case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
      // Making or dropping a table or an index writes the schema, which SQL itself can't.
      isWritable(first) || writablePrefix != nil && first == "sqlite_master"
    case SQLITE_CREATE_TABLE, SQLITE_DROP_TABLE, SQLITE_CREATE_INDEX, SQLITE_DROP_INDEX, SQLITE_REINDEX:
      isWritable(first)
    default: false
    }
  }

  private func isWritable(_ name: String?) -> Bool {
    guard let writablePrefix, let name else { return false }
    return name.hasPrefix(writablePrefix) || name.hasPrefix("sqlite_stat")
  }
}

/// A rule as SQLite can hold it.
final class StatementGuard {
  fileprivate let rule: StatementRule
  fileprivate var isLifted = false

  init(_ rule: StatementRule) { self.rule = rule }
}

extension Connection {
  /// Applies a rule to all statements that are compiled from now on.
  func setRule(_ rule: StatementRule) throws(SQLiteError) {
    let handle = try open()
    let statements = StatementGuard(rule)
    statementGuard = statements
    try ReplacedFunctions.replace(on: self, except: rule.functions)
    try check(
      sqlite3_set_authorizer(
        handle,
        { statements, action, first, second, _, _ in
          let statements = Unmanaged<StatementGuard>.fromOpaque(statements!).takeUnretainedValue()
          guard !statements.isLifted else { return SQLITE_OK }
          // Reading a column is the act that is asked about most.
          if action == SQLITE_READ || action == SQLITE_SELECT { return SQLITE_OK }
          let isAllowed = statements.rule.allows(
            action, first.map { String(cString: $0) }, second.map { String(cString: $0) })
          return isAllowed ? SQLITE_OK : SQLITE_DENY
        }, Unmanaged.passUnretained(statements).toOpaque()))
  }
}

extension Database {
  /// Allows every statement while `work` runs: VACUUM, which copies the file through statements of its own, and pragmas
  /// of a special case.
  package func liftingRule<R, E: Error>(_ work: () throws(E) -> R) throws(E) -> R {
    connection.statementGuard?.isLifted = true
    defer { connection.statementGuard?.isLifted = false }
    return try work()
  }
}
