internal import CCofferSQLite

// For the store's rows: several columns of one row at hand at once, without a closure for each.

/// One column of the row at hand, as it is stored.
package struct StoredColumn {
  package let storageClass: StorageClass
  /// 0 for what is not an integer.
  package let integer: Int64
  /// A blob's bytes, or a text's in UTF-8, not validated; no bytes for anything else.
  package let bytes: UnsafeRawBufferPointer
}

extension Statement {
  /// All columns of the row at hand, valid until the next step or reset.
  ///
  /// One call where each column would take three, each of them through SQLite's checks.
  package func columns() -> UnsafeBufferPointer<StoredColumn> {
    let columns = columnMemory()
    for index in columns.indices {
      // Unprotected values: this connection has one thread at a time.
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

  /// A blob's bytes where SQLite keeps them, valid until the next step or reset; empty for an empty blob and for NULL.
  package func blobPointer(at column: Int) -> UnsafeRawBufferPointer {
    let column = Int32(truncatingIfNeeded: column)
    let bytes = sqlite3_column_blob(pointer, column)
    return UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(sqlite3_column_bytes(pointer, column)))
  }

  /// A text's bytes as they are stored, in the encoding of the database, on the same terms: nothing is converted, so
  /// nothing is repaired.
  package func storedTextPointer(at column: Int, isUTF16: Bool) -> UnsafeRawBufferPointer {
    let column = Int32(truncatingIfNeeded: column)
    // For a text, this returns its bytes unconverted; the count must be read in units of the same size.
    let bytes = sqlite3_column_blob(pointer, column)
    let count = isUTF16 ? sqlite3_column_bytes16(pointer, column) : sqlite3_column_bytes(pointer, column)
    return UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(count))
  }
}
