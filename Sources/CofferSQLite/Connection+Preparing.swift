internal import CCofferSQLite

extension Connection {
  /// Prepares SQL that contains exactly one statement. Takes the statement from the cache if it's idle there.
  func statement(_ sql: String) throws(SQLiteError) -> Statement {
    let handle = try open()
    let cached = cache.take(sql)
    if let (slot, pointer) = cached, let pointer {
      return Statement(connection: self, pointer: pointer, sql: sql, slot: slot)
    }
    let text = try StatementText(sql)
    let compiled = text.compile(from: 0, on: handle, isPersistent: true)
    guard compiled.result == SQLITE_OK else { throw error(compiled.result, sql: sql) }
    guard let pointer = compiled.pointer else {
      throw SQLiteError(.misuse, "no statement at the beginning of the text", sql: sql)
    }
    guard !text.holdsStatement(after: compiled.end, on: handle) else {
      sqlite3_finalize(pointer)
      throw SQLiteError(.misuse, "more than one statement in the text", sql: sql)
    }
    return Statement(connection: self, pointer: pointer, sql: sql, slot: cached?.slot ?? cache.makeSlot(sql))
  }

  /// Returns whether a text has more than one statement, provided that the first statement can be compiled.
  func holdsSeveralStatements(_ sql: String) throws(SQLiteError) -> Bool {
    let handle = try open()
    let text = try StatementText(sql)
    guard text.hasInnerSemicolon else { return false }
    let compiled = text.compile(from: 0, on: handle)
    sqlite3_finalize(compiled.pointer)
    return compiled.result == SQLITE_OK && text.holdsStatement(after: compiled.end, on: handle)
  }

  /// Runs a text's statements one by one. Each statement is compiled after the previous statements' changes.
  func runAll(_ sql: String, _ run: (Statement) throws(SQLiteError) -> Void) throws(SQLiteError) {
    let text = try StatementText(sql)
    var offset = 0
    while offset < text.count {
      let compiled = text.compile(from: offset, on: try open())
      guard compiled.result == SQLITE_OK else { throw error(compiled.result, sql: sql) }
      offset = compiled.end
      guard let pointer = compiled.pointer else { continue }
      try run(Statement(connection: self, pointer: pointer, sql: sql, slot: nil))
    }
  }
}
