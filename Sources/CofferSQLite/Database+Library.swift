internal import CCofferSQLite

/// The linked SQLite library.
extension Database {
  /// The version of the linked SQLite library, such as `3.40.1`.
  public static var libraryVersion: String { String(cString: sqlite3_libversion()) }

  /// The version number of the linked SQLite library, such as 3040001.
  public static var libraryVersionNumber: Int32 { sqlite3_libversion_number() }

  /// The minimum SQLite version for opening a database. Its tests don't run with older versions.
  static let minimumVersionNumber: Int32 = 3_040_000

  /// The reason that the linked SQLite library can't be used, or `nil`.
  static let libraryFault = libraryFault(
    versionNumber: libraryVersionNumber, isThreadSafe: sqlite3_threadsafe() != 0,
    hasOption: { sqlite3_compileoption_used($0) != 0 })

  /// Returns the reason that a SQLite library can't be used, or `nil`.
  ///
  /// Without thread safety, two threads with separate connections would share unlocked memory. With `TEMP_STORE=0`,
  /// SQLite would sort in files, regardless of the connection's settings.
  static func libraryFault(versionNumber: Int32, isThreadSafe: Bool, hasOption: (String) -> Bool) -> String? {
    guard versionNumber >= minimumVersionNumber else {
      return "this is SQLite \(text(of: versionNumber)), and \(text(of: minimumVersionNumber)) or later is required"
    }
    guard isThreadSafe else { return "this SQLite was compiled with THREADSAFE=0" }
    if let option = ["TEMP_STORE=0", "OMIT_JSON"].first(where: hasOption) {
      return "this SQLite was compiled with \(option)"
    }
    guard hasOption("ENABLE_FTS5") else { return "this SQLite was compiled without ENABLE_FTS5" }
    return nil
  }

  private static func text(of versionNumber: Int32) -> String {
    "\(versionNumber / 1_000_000).\(versionNumber / 1000 % 1000).\(versionNumber % 1000)"
  }

  /// A Boolean value that indicates whether SQLite can lose commits or damage the file if, with a write-ahead log, one
  /// connection commits during another connection's checkpoint.
  public static var hasWALResetBug: Bool { hasWALResetBug(versionNumber: libraryVersionNumber) }

  /// Returns whether a version has the bug. Versions 3.7.0 to 3.51.2 have it, except for 3.50.7 and 3.44.6 and later
  /// releases in their branches.
  static func hasWALResetBug(versionNumber: Int32) -> Bool {
    switch versionNumber {
    case ..<3_007_000, 3_051_003...: false
    case 3_050_007..<3_051_000, 3_044_006..<3_045_000: false
    default: true
    }
  }

  /// Disables SQLite's memory statistics, whose process-wide lock slows down readers on several threads.
  ///
  /// Call this method before the process opens its first database by any means. Returns `false` if it's too late.
  public static func disableMemoryStatistics() -> Bool {
    coffer_sqlite_disable_memory_statistics() == SQLITE_OK
  }
}
