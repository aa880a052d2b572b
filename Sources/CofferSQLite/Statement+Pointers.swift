internal import CCofferSQLite

// The store reads several columns from a row together, without a closure for each column.

/// A column's stored value in the current row.
package struct StoredColumn {
  package let storageClass: StorageClass
  /// The integer, or 0 for other storage classes.
  package let integer: Int64
  /// The blob's bytes, or the text's UTF-8 bytes, which aren't validated. Empty for other storage classes.
  package let bytes: UnsafeRawBufferPointer
}

extension Statement {
  /// Returns the current row's columns, which are valid until the next step or reset.
  ///
  /// A single call replaces three calls for each column, which would all repeat SQLite's checks.
  package func columns() -> UnsafeBufferPointer<StoredColumn> {
    let columns = columnMemory()
    for index in columns.indices {
      // Unprotected values are safe, because this connection is used by one thread at a time.
      let value = sqlite3_column_value(pointer, Int32(truncatingIfNeeded: index))
      switch sqlite3_value_type(value) {
      case SQLITE_INTEGER:
        columns[index] = StoredColumn(storageClass: .integer, integer: sqlite3_value_int64(value), bytes: Self.none)
      case SQLITE_BLOB:
        let bytes = sqlite3_value_blob(value)
        let count = bytes == nil ? 0 : Int(sqlite3_value_bytes(value))
        columns[index] = StoredColumn(
          storageClass: .blob, integer: 0, bytes: UnsafeRawBufferPointer(start: bytes, count: count))
      case SQLITE_TEXT:
        let bytes = UnsafeRawPointer(sqlite3_value_text(value))
        let count = bytes == nil ? 0 : Int(sqlite3_value_bytes(value))
        columns[index] = StoredColumn(
          storageClass: .text, integer: 0, bytes: UnsafeRawBufferPointer(start: bytes, count: count))
      case SQLITE_FLOAT:
        columns[index] = StoredColumn(storageClass: .real, integer: 0, bytes: Self.none)
      default:
        columns[index] = StoredColumn(storageClass: .null, integer: 0, bytes: Self.none)
      }
    }
    return UnsafeBufferPointer(columns)
  }

  private static var none: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  /// Returns a blob's bytes in SQLite's memory, which are valid until the next step or reset. Empty for an empty blob
  /// and for NULL.
  package func blobPointer(at column: Int) -> UnsafeRawBufferPointer {
    let column = Int32(truncatingIfNeeded: column)
    let bytes = sqlite3_column_blob(pointer, column)
    return UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(sqlite3_column_bytes(pointer, column)))
  }

  /// Returns a text's stored bytes in the database's encoding, which are valid until the next step or reset. SQLite
  /// doesn't convert the bytes, so it doesn't repair invalid text.
  package func storedTextPointer(at column: Int, isUTF16: Bool) -> UnsafeRawBufferPointer {
    let column = Int32(truncatingIfNeeded: column)
    // For a text, this call returns the unconverted bytes. Read the count in units of the same size, because another
    // size would convert the text.
    let bytes = sqlite3_column_blob(pointer, column)
    let count = isUTF16 ? sqlite3_column_bytes16(pointer, column) : sqlite3_column_bytes(pointer, column)
    return UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(count))
  }
}
