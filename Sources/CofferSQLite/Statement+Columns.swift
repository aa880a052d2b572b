internal import CCofferSQLite

// Columns count from 0. All values outside of a row or its columns are NULL.
//
// The statement owns the borrowed memory, so extended lifetimes prevent its release during use.
extension Statement {
  /// Returns the value's storage class. Call this method before you read the value, because a converting read may
  /// change the storage class.
  public func storageClass(at column: Int) -> StorageClass {
    switch sqlite3_column_type(pointer, Int32(truncatingIfNeeded: column)) {
    case SQLITE_INTEGER: .integer
    case SQLITE_FLOAT: .real
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    default: .null
    }
  }

  /// Returns the integer, or another value converted like SQLite's CAST. Returns 0 for NULL.
  public func int64(at column: Int) -> Int64 {
    sqlite3_column_int64(pointer, Int32(truncatingIfNeeded: column))
  }

  /// Returns the real number, or another value converted like SQLite's CAST. Returns 0 for NULL.
  public func double(at column: Int) -> Double {
    sqlite3_column_double(pointer, Int32(truncatingIfNeeded: column))
  }

  /// Returns whether the value in a column is NULL. Columns count from 0.
  public func isNull(at column: Int) -> Bool {
    sqlite3_column_type(pointer, Int32(truncatingIfNeeded: column)) == SQLITE_NULL
  }

  /// Returns the size of a blob, or of a text in UTF-8.
  public func byteCount(at column: Int) -> Int {
    Int(sqlite3_column_bytes(pointer, Int32(truncatingIfNeeded: column)))
  }

  /// Calls `body` with a blob's bytes, or with another value as unvalidated UTF-8 text. The bytes are valid during the
  /// call, and empty for NULL.
  ///
  /// - Returns: The result of `body`.
  /// - Throws: The errors of `body`.
  public func withBytes<R, E: Error>(
    at column: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    switch storageClass(at: column) {
    case .null: try body(UnsafeRawBufferPointer(start: nil, count: 0))
    case .blob: try withBlob(at: column, body)
    default: try withText(at: column, body)
    }
  }

  /// Calls `body` with the bytes of a blob column. The address of an empty blob is `nil`.
  package func withBlob<R, E: Error>(
    at column: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    let column = Int32(truncatingIfNeeded: column)
    let bytes = sqlite3_column_blob(pointer, column)
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(pointer, column))))
  }

  /// Calls `body` with a column as unvalidated UTF-8, converted by SQLite if needed. If the database stores UTF-16,
  /// call `isWellFormed(at:)` first, because SQLite silently joins an unpaired surrogate with the next unit.
  package func withText<R, E: Error>(
    at column: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    let column = Int32(truncatingIfNeeded: column)
    // Call this before reading the count, because it converts the value, and the count is the number of converted
    // bytes.
    let bytes = UnsafeRawPointer(sqlite3_column_text(pointer, column))
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(pointer, column))))
  }

  /// Returns `false` for a text with unpaired surrogates in a UTF-16 database, or `true` for other columns, and always
  /// in a UTF-8 database.
  package func isWellFormed(at column: Int) -> Bool {
    guard connection.isUTF16, storageClass(at: column) == .text else { return true }
    let column = Int32(truncatingIfNeeded: column)
    guard let start = sqlite3_column_text16(pointer, column) else { return true }
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes16(pointer, column)))
    defer { withExtendedLifetime(self) {} }
    return bytes.withMemoryRebound(to: UInt16.self, Self.isWellFormed)
  }

  private static func isWellFormed(_ units: UnsafeBufferPointer<UInt16>) -> Bool {
    var isHalf = false  // after the first of a pair
    for unit in units where unit & 0xF800 == 0xD800 || isHalf {
      let isSecond = unit & 0xFC00 == 0xDC00
      guard isSecond == isHalf else { return false }
      isHalf = unit & 0xFC00 == 0xD800
    }
    return !isHalf
  }

  /// Returns the value as text, or `nil` for NULL. Numbers are converted like SQLite's CAST.
  ///
  /// - Throws: `invalidText` for text that isn't valid Unicode.
  public func text(at column: Int) throws(SQLiteError) -> String? {
    let index = Int32(truncatingIfNeeded: column)
    guard !isNull(at: column) else { return nil }
    guard isWellFormed(at: column) else {
      throw SQLiteError(.invalidText, "the text in column \(column) is not valid UTF-16", sql: sql)
    }
    guard let start = sqlite3_column_text(pointer, index) else {
      throw SQLiteError(.noMemory, "no memory to convert a text", extendedCode: SQLITE_NOMEM, sql: sql)
    }
    let utf8 = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, index)))
    defer { withExtendedLifetime(self) {} }
    guard let text = String(validating: utf8, as: UTF8.self) else {
      throw SQLiteError(.invalidText, "the text in column \(column) is not valid UTF-8", sql: sql)
    }
    return text
  }

  /// Returns the bytes of a blob or text, or `nil` for NULL.
  public func bytes(at column: Int) -> [UInt8]? {
    isNull(at: column) ? nil : withBytes(at: column) { Array($0) }
  }

  /// Returns the value in its stored type.
  ///
  /// - Throws: `invalidText` for text that isn't valid Unicode.
  public func value(at column: Int) throws(SQLiteError) -> SQLiteValue {
    switch storageClass(at: column) {
    case .null: .null
    case .integer: .integer(int64(at: column))
    case .real: .real(double(at: column))
    case .text: .text(try text(at: column) ?? "")
    case .blob: .blob(withBlob(at: column) { Array($0) })
    }
  }

  /// Returns the row's values in column order.
  ///
  /// - Throws: `invalidText` for text that isn't valid Unicode.
  public func values() throws(SQLiteError) -> [SQLiteValue] {
    var values: [SQLiteValue] = []
    let count = columnCount
    values.reserveCapacity(count)
    for column in 0..<count { values.append(try value(at: column)) }
    return values
  }
}
