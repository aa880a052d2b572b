internal import CCofferSQLite

extension Database {
  /// Returns the first bytes of the file on disk, without taking a lock or reading the journal, or fewer bytes if the
  /// file is shorter.
  ///
  /// The method uses SQLite's own descriptor, because opening and closing another descriptor would release this
  /// process's locks on the file.
  package func firstBytes(_ count: Int) throws(SQLiteError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var size: Int64 = 0
    let handle = try connection.open()
    try connection.check(coffer_sqlite_file_size(handle, &size))
    let present = min(count, Int(size))
    if present > 0 {
      try connection.check(coffer_sqlite_read_file(handle, &bytes, Int32(present), 0))
    }
    return Array(bytes.prefix(present))
  }

  /// Returns the size of the file on disk in bytes.
  package func fileSize() throws(SQLiteError) -> Int64 {
    var size: Int64 = 0
    try connection.check(coffer_sqlite_file_size(try connection.open(), &size))
    return size
  }
}
