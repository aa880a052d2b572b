internal import CCofferSQLite

/// SQLite's own functions, replaced on connections to strangers' files.
///
/// SQLite doesn't ask the authorizer about expressions of the schema, and computes some of them itself: a CHECK
/// constraint in `integrity_check`, a generated column of the statistics whenever it reads the schema. No signal ends a
/// function that computes for years. Therefore, a schema can't call any function that the connection's rule lacks.
enum ReplacedFunctions {
  /// The names of all functions of this SQLite that expressions of a schema can call.
  private static let names: Result<[String], SQLiteError> = Result { () throws(SQLiteError) in
    let scratch = try Database.connect(
      ":memory:", SQLITE_OPEN_READWRITE, vfs: nil, configuration: Database.Configuration())
    let functions = try scratch.statement("SELECT DISTINCT lower(name) FROM pragma_function_list WHERE type = 's'")
    var names: [String] = []
    while try functions.step() { if let name = try functions.text(at: 0) { names.append(name) } }
    return names
  }

  /// Replaces all functions but those with the given names. A schema that calls them still loads, but a statement that
  /// needs such a value fails.
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
