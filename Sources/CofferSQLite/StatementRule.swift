internal import CCofferSQLite

/// The statements that a connection compiles, for untrusted files. Others throw `notAllowed`.
///
/// SQLite calls the rule while it compiles a statement, including the views and triggers that a schema adds. It doesn't
/// call the rule for expressions in generated columns, CHECK constraints and indexes, so they can also call only these
/// functions (``ReplacedFunctions``).
package struct StatementRule: Sendable {
  /// The functions that statements can call, in lowercase.
  package var functions: Set<String>
  /// The allowed pragmas, in lowercase.
  package var pragmas: Set<String>
  /// The name prefix of the tables and indexes that statements may write, create and drop, or `nil` for a read-only
  /// connection.
  package var writablePrefix: String?

  package init(functions: Set<String>, pragmas: Set<String>, writablePrefix: String? = nil) {
    (self.functions, self.pragmas, self.writablePrefix) = (functions, pragmas, writablePrefix)
  }

  /// Returns whether a statement may perform an action.
  fileprivate func allows(_ action: Int32, _ first: String?, _ second: String?) -> Bool {
    switch action {
    case SQLITE_SELECT, SQLITE_READ, SQLITE_RECURSIVE, SQLITE_TRANSACTION: true
    case SQLITE_SAVEPOINT: writablePrefix != nil
    case SQLITE_PRAGMA: pragmas.contains(first?.lowercased() ?? "")
    case SQLITE_FUNCTION: functions.contains(second?.lowercased() ?? "")
    case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
      // Creating or dropping a table or an index writes the schema, which SQL itself can't.
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

/// A rule in a form that SQLite can refer to.
final class StatementGuard {
  fileprivate let rule: StatementRule
  fileprivate var isLifted = false

  init(_ rule: StatementRule) { self.rule = rule }
}

extension Connection {
  /// Applies a rule to all statements that are compiled later.
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
          // Reading a column is the most frequent action.
          if action == SQLITE_READ || action == SQLITE_SELECT { return SQLITE_OK }
          let isAllowed = statements.rule.allows(
            action, first.map { String(cString: $0) }, second.map { String(cString: $0) })
          return isAllowed ? SQLITE_OK : SQLITE_DENY
        }, Unmanaged.passUnretained(statements).toOpaque()))
  }
}

extension Database {
  /// Allows every statement while `work` runs. Use it for VACUUM, which copies the file with its own statements, and
  /// for special pragmas.
  package func liftingRule<R, E: Error>(_ work: () throws(E) -> R) throws(E) -> R {
    connection.statementGuard?.isLifted = true
    defer { connection.statementGuard?.isLifted = false }
    return try work()
  }
}
