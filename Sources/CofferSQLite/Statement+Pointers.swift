internal import CCofferSQLite

// For the store's rows: several columns of one row at hand at once, without a closure for each.

extension Statement {
  /// A blob's bytes where SQLite keeps them, valid until the next step or reset; empty for an empty blob and for NULL.
  package func blobPointer(at column: Int) -> UnsafeRawBufferPointer {
    let column = Int32(truncatingIfNeeded: column)
    let bytes = sqlite3_column_blob(pointer, column)
    return UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(sqlite3_column_bytes(pointer, column)))
  }

  /// A text's bytes in UTF-8, not validated, on the same terms.
  package func textPointer(at column: Int) -> UnsafeRawBufferPointer {
    let column = Int32(truncatingIfNeeded: column)
    let bytes = UnsafeRawPointer(sqlite3_column_text(pointer, column))
    return UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(sqlite3_column_bytes(pointer, column)))
  }
}
