internal import CCofferSQLite

/// SQLite's VFS of the system, with one difference: it looks at files before it opens them.
///
/// SQLite trusts what it finds beside a database. It deletes the file that a journal names as its super-journal, writes
/// through hard links, waits for ever at a pipe, and applies a log to a database that has none. So xOpen refuses the files
/// that `FileCheck` refuses; everything else is the system's.
enum CheckingVFS {
  /// SQLITE_CANTOPEN_DIRTYWAL, which SQLite itself never returns. After a plain SQLITE_CANTOPEN it takes a journal for
  /// hot and opens it again.
  static let refusal = SQLITE_CANTOPEN | (5 << 8)

  // The system's methods find what they need in its pAppData, szOsFile and mxPathname.
  private static let registration = VFSRegistration("coffer") { vfs in
    vfs.xOpen = { _, name, file, flags, openedFlags in
      do throws(FileCheck.Failure) {
        try FileCheck.check(name, flags)
      } catch {
        // SQLite closes a file that has methods.
        file?.pointee.pMethods = nil
        return error.report()
      }
      let system = VFSRegistration.system
      return system?.pointee.xOpen(system, name, file, flags, openedFlags) ?? SQLITE_CANTOPEN
    }
  }

  /// The name for sqlite3_open_v2, registered at the first call.
  static func registeredName() throws(SQLiteError) -> String {
    try registration.registeredName()
  }
}
