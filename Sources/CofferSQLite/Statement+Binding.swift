internal import CCofferSQLite

// Reset a statement before you bind its parameters again. `run()` and a failed step already do that.
extension Statement {
  /// Binds an integer to a parameter. Parameters count from 1.
  ///
  /// - Throws: `misuse` if the parameter doesn't exist, or if the statement is running and must be reset first.
  public func bind(_ value: Int64, at index: Int) throws(SQLiteError) {
    try check(sqlite3_bind_int64(pointer, Int32(truncatingIfNeeded: index), value))
  }

  /// Binds an integer to a parameter. Parameters count from 1.
  ///
  /// - Throws: `misuse`, as for an `Int64`.
  public func bind(_ value: Int, at index: Int) throws(SQLiteError) { try bind(Int64(value), at: index) }

  /// Binds a number to a parameter. Parameters count from 1. NaN is bound as NULL, because SQLite can't store it.
  ///
  /// - Throws: `misuse`, as for an `Int64`.
  public func bind(_ value: Double, at index: Int) throws(SQLiteError) {
    try check(sqlite3_bind_double(pointer, Int32(truncatingIfNeeded: index), value))
  }

  /// Binds NULL to a parameter. Parameters count from 1.
  ///
  /// - Throws: `misuse`, as for an `Int64`.
  package func bindNull(at index: Int) throws(SQLiteError) {
    try check(sqlite3_bind_null(pointer, Int32(truncatingIfNeeded: index)))
  }

  /// Binds a copy of a text to a parameter. Parameters count from 1. The text is bound by its byte count, so it can
  /// contain U+0000.
  ///
  /// - Throws: `misuse`, as for an `Int64`, or `tooBig` beyond the length limit.
  public func bind(_ text: String, at index: Int) throws(SQLiteError) {
    var text = text
    try check(
      text.withUTF8 { utf8 in
        coffer_sqlite_bind_text(
          pointer, Int32(truncatingIfNeeded: index), utf8.baseAddress, UInt64(utf8.count), 1)
      })
  }

  /// Binds a copy of a blob to a parameter. Parameters count from 1.
  ///
  /// - Throws: `misuse`, as for an `Int64`, or `tooBig` beyond the length limit.
  public func bind(_ blob: [UInt8], at index: Int) throws(SQLiteError) {
    try check(
      blob.withUnsafeBytes { bytes in
        coffer_sqlite_bind_blob(
          pointer, Int32(truncatingIfNeeded: index), bytes.baseAddress, UInt64(bytes.count), 1)
      })
  }

  /// Binds a value of any SQLite type to a parameter. Parameters count from 1, and `nil` is NULL.
  ///
  /// - Throws: `misuse`, as for an `Int64`, or `tooBig` beyond the length limit.
  public func bind(_ value: (any SQLiteValueConvertible)?, at index: Int) throws(SQLiteError) {
    switch value?.sqliteValue ?? .null {
    case .null: try bindNull(at: index)
    case .integer(let value): try bind(value, at: index)
    case .real(let value): try bind(value, at: index)
    case .text(let value): try bind(value, at: index)
    case .blob(let value): try bind(value, at: index)
    }
  }

  /// Binds all parameters in order.
  ///
  /// - Throws: `misuse` unless the numbers of values and parameters are equal.
  public func bind(all values: [(any SQLiteValueConvertible)?]) throws(SQLiteError) {
    guard values.count == parameterCount else {
      throw SQLiteError(.misuse, "values: \(values.count), but parameters: \(parameterCount)", sql: sql)
    }
    for (index, value) in values.enumerated() { try bind(value, at: index + 1) }
  }

  /// Binds parameters by name. The `:`, `@` or `$` is optional.
  ///
  /// - Throws: `misuse` unless each parameter has a value and each value has a parameter.
  public func bind(named values: [String: (any SQLiteValueConvertible)?]) throws(SQLiteError) {
    guard values.count == parameterCount else {
      throw SQLiteError(.misuse, "values: \(values.count), but parameters: \(parameterCount)", sql: sql)
    }
    var bound: Set<Int> = []
    for (name, value) in values {
      guard let index = parameterIndex(named: name), bound.insert(index).inserted else {
        throw SQLiteError(.misuse, "no parameter is named \(name), or another name has it", sql: sql)
      }
      try bind(value, at: index)
    }
  }

  // MARK: Bytes in place

  /// Binds UTF-8 without copying it. The memory must remain unchanged until the parameter is bound again or cleared, or
  /// the statement is released. An empty buffer is the empty text.
  package func bindText(_ utf8: UnsafeRawBufferPointer, at index: Int) throws(SQLiteError) {
    try check(
      coffer_sqlite_bind_text(pointer, Int32(truncatingIfNeeded: index), utf8.baseAddress, UInt64(utf8.count), 0))
  }

  /// Binds a blob without copying it, with the same requirements as `bindText(_:at:)`. An empty buffer is the empty
  /// blob.
  package func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: Int) throws(SQLiteError) {
    try check(
      coffer_sqlite_bind_blob(pointer, Int32(truncatingIfNeeded: index), bytes.baseAddress, UInt64(bytes.count), 0))
  }

  /// Binds a copy of UTF-8 to a parameter. Parameters count from 1. An empty buffer is the empty text.
  ///
  /// - Throws: `misuse`, as for an `Int64`, or `tooBig` beyond the length limit.
  public func bindText(copying utf8: UnsafeRawBufferPointer, at index: Int) throws(SQLiteError) {
    try check(
      coffer_sqlite_bind_text(pointer, Int32(truncatingIfNeeded: index), utf8.baseAddress, UInt64(utf8.count), 1))
  }

  /// Binds a copy of a blob to a parameter. Parameters count from 1. An empty buffer is the empty blob.
  ///
  /// - Throws: `misuse`, as for an `Int64`, or `tooBig` beyond the length limit.
  public func bindBlob(copying bytes: UnsafeRawBufferPointer, at index: Int) throws(SQLiteError) {
    try check(
      coffer_sqlite_bind_blob(pointer, Int32(truncatingIfNeeded: index), bytes.baseAddress, UInt64(bytes.count), 1))
  }

  private func check(_ result: Int32) throws(SQLiteError) {
    guard result == SQLITE_OK else { throw connection.error(result, sql: sql, isRunning: true) }
  }
}
