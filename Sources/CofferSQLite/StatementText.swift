internal import CCofferSQLite

/// A SQL text that's ready to be compiled, statement by statement.
struct StatementText {
  /// The bytes with a trailing zero. Without it, SQLite would copy the remaining text for each statement.
  private let bytes: ContiguousArray<CChar>

  /// Throws `misuse` for U+0000, because SQLite would silently stop there.
  init(_ sql: String) throws(SQLiteError) {
    bytes = sql.utf8CString
    guard bytes.count < Int32.max else { throw SQLiteError(.tooBig, "the statement is too long") }
    guard bytes.firstIndex(of: 0) == bytes.count - 1 else { throw SQLiteError(.misuse, "U+0000 in a statement") }
  }

  /// The length in bytes.
  var count: Int { bytes.count - 1 }

  struct Compiled {
    var result: Int32
    /// The compiled statement, or `nil` for whitespace and comments.
    var pointer: OpaquePointer?
    /// The statement's end in the text, in bytes.
    var end: Int
  }

  /// Compiles the statement at a byte offset.
  func compile(from start: Int, on handle: OpaquePointer, isPersistent: Bool = false) -> Compiled {
    bytes.withUnsafeBufferPointer { bytes in
      let text = bytes.baseAddress! + start
      var compiled = Compiled(result: SQLITE_OK, pointer: nil, end: count)
      var tail: UnsafePointer<CChar>?
      compiled.result = sqlite3_prepare_v3(
        handle, text, Int32(bytes.count - start), isPersistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0,
        &compiled.pointer, &tail)
      if let tail { compiled.end = start + (tail - text) }
      return compiled
    }
  }

  /// Returns whether a byte offset is followed by more than whitespace and comments.
  func holdsStatement(after offset: Int, on handle: OpaquePointer) -> Bool {
    var offset = offset
    while let start = bytes[offset..<count].firstIndex(where: { !Self.isBlank($0) }) {
      let compiled = compile(from: start, on: handle)
      guard compiled.result == SQLITE_OK, compiled.pointer == nil else {
        sqlite3_finalize(compiled.pointer)
        return true
      }
      offset = compiled.end
    }
    return false
  }

  /// Whether the text may contain several statements, because it has a semicolon before its end.
  var hasInnerSemicolon: Bool {
    guard let first = bytes.firstIndex(of: Self.semicolon) else { return false }
    return bytes[first..<count].contains { !Self.isBlank($0) }
  }

  private static let semicolon = CChar(bitPattern: UInt8(ascii: ";"))

  private static func isBlank(_ byte: CChar) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte) || byte == semicolon
  }
}
