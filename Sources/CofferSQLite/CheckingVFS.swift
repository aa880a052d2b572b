internal import CCofferSQLite

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// SQLite's VFS of the system, with one difference: it looks at files before it opens them.
///
/// SQLite trusts what it finds beside a database. It deletes the file that a journal names as its super-journal, writes
/// through hard links, waits for ever at a pipe, and applies a log to a database that has none. So xOpen refuses the files
/// that `FileCheck` refuses; everything else is the system's.
enum CheckingVFS {
  private static let name = "coffer"
  /// SQLITE_CANTOPEN_DIRTYWAL, which SQLite itself never returns. After a plain SQLITE_CANTOPEN it takes a journal for
  /// hot and opens it again.
  static let refusal = SQLITE_CANTOPEN | (5 << 8)

  // Written once, and from then on SQLite's own to read.
  nonisolated(unsafe) private static let system = sqlite3_vfs_find(nil)
  private static let registration = register()

  /// The name for sqlite3_open_v2, registered at the first call.
  static func registeredName() throws(SQLiteError) -> String {
    guard registration == SQLITE_OK else {
      throw SQLiteError(
        SQLiteError.Code(result: registration), SQLiteError.plainMessage(registration), extendedCode: registration)
    }
    return name
  }

  private static func register() -> Int32 {
    guard let system, let name = strdup(name) else { return SQLITE_NOMEM }
    // Never freed: SQLite keeps it until the process ends.
    let checking = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    // The system's methods find what they need in its pAppData, szOsFile and mxPathname.
    checking.initialize(to: system.pointee)
    checking.pointee.pNext = nil
    checking.pointee.zName = UnsafePointer(name)
    checking.pointee.xOpen = { _, name, file, flags, openedFlags in
      do throws(FileCheck.Failure) {
        try FileCheck.check(name, flags)
      } catch {
        // SQLite closes a file that has methods.
        file?.pointee.pMethods = nil
        return error.report()
      }
      return CheckingVFS.system?.pointee.xOpen(CheckingVFS.system, name, file, flags, openedFlags) ?? SQLITE_CANTOPEN
    }
    return sqlite3_vfs_register(checking, 0)
  }
}
