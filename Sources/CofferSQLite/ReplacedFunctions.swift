internal import CCofferSQLite

/// Replacements for SQLite's own functions on connections to untrusted files.
///
/// SQLite doesn't call the authorizer for schema expressions, and evaluates some of them itself, such as a CHECK
/// constraint in `integrity_check`, or a generated column of the statistics whenever it reads the schema. Signals can't
/// end a function that runs for years. Therefore, a schema can only call the functions in the connection's rule.
enum ReplacedFunctions {
  /// The names of all SQLite functions that schema expressions can call.
  private static let names: Result<[String], SQLiteError> = Result { () throws(SQLiteError) in
    let scratch = try Database.connect(
      ":memory:", SQLITE_OPEN_READWRITE, vfs: nil, configuration: Database.Configuration())
    let functions = try scratch.statement("SELECT DISTINCT lower(name) FROM pragma_function_list WHERE type = 's'")
    var names: [String] = []
    while try functions.step() { if let name = try functions.text(at: 0) { names.append(name) } }
    return names
  }

  /// Replaces all functions except the named functions. A schema that calls them still loads, but statements that need
  /// their values fail.
  static func replace(on connection: Connection, except allowed: Set<String>) throws(SQLiteError) {
    let handle = try connection.open()
    for name in try names.get() where !allowed.contains(name) {
      try connection.check(
        sqlite3_create_function_v2(
          handle, name, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nil,
          { context, _, _ in sqlite3_result_error_code(context, SQLITE_AUTH) }, nil, nil, nil))
    }
  }
}
