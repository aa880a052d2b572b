internal import CCofferSQLite

/// The SQLite that is linked.
extension Database {
  /// The version of the linked SQLite, such as `3.40.1`.
  public static var libraryVersion: String { String(cString: sqlite3_libversion()) }

  /// The version of the linked SQLite as a number, such as 3040001.
  public static var libraryVersionNumber: Int32 { sqlite3_libversion_number() }

  /// True for versions of SQLite that can lose commits or damage the file if, with a write-ahead log, one connection
  /// commits while another checkpoints.
  public static var hasWALResetBug: Bool { hasWALResetBug(versionNumber: libraryVersionNumber) }

  /// SQLite 3.7.0 to 3.51.2 have the bug, but for the corrected 3.50.7 and 3.44.6 and what follows in their lines.
  static func hasWALResetBug(versionNumber: Int32) -> Bool {
    switch versionNumber {
    case ..<3_007_000, 3_051_003...: false
    case 3_050_007..<3_051_000, 3_044_006..<3_045_000: false
    default: true
    }
  }

  /// Stops SQLite from counting its memory under a lock of the whole process, which slows readers on several threads.
  ///
  /// Must be called before the process opens its first database by any means; false if it is too late.
  public static func disableMemoryStatistics() -> Bool {
    coffer_sqlite_disable_memory_statistics() == SQLITE_OK
  }
}
