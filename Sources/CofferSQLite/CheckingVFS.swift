internal import CCofferSQLite
internal import CofferPlatform

/// The system's VFS with two differences. It checks files before it opens them, and it confirms the removal of a
/// journal with `coffer_sync`, because the removal commits a transaction, but an Apple drive could otherwise keep it in
/// its cache.
///
/// SQLite trusts the files next to a database. It deletes the super-journal that a journal names, writes through hard
/// links, waits indefinitely for a pipe, and applies a log to a database that doesn't use one. So xOpen refuses the
/// same files as `FileCheck`. Other methods are the system's.
enum CheckingVFS {
  /// SQLITE_CANTOPEN_DIRTYWAL, which SQLite itself never returns. After a plain SQLITE_CANTOPEN, SQLite treats a
  /// journal as hot and reopens it.
  static let refusal = SQLITE_CANTOPEN | (5 << 8)

  // The system's methods require its pAppData, szOsFile and mxPathname.
  private static let registration = VFSRegistration("coffer") { vfs in
    vfs.xOpen = { _, name, file, flags, openedFlags in
      do throws(FileCheck.Failure) {
        try FileCheck.check(name, flags)
      } catch {
        // SQLite closes any file with methods.
        file?.pointee.pMethods = nil
        return error.report()
      }
      let system = VFSRegistration.system
      return system?.pointee.xOpen(system, name, file, flags, openedFlags) ?? SQLITE_CANTOPEN
    }
    vfs.xDelete = { _, name, isConfirmed in
      let system = VFSRegistration.system
      // SQLite confirms a removal with fsync, which doesn't flush an Apple drive's cache.
      let result = system?.pointee.xDelete(system, name, 0) ?? SQLITE_IOERR
      guard result == SQLITE_OK, isConfirmed != 0, let name else { return result }
      return confirmFolder(of: String(cString: name)) ? SQLITE_OK : SQLITE_IOERR | (5 << 8)  // SQLITE_IOERR_DIR_FSYNC
    }
  }

  /// Waits until the disk has stored the entries of a file's folder.
  ///
  /// - Returns: `false` if the disk failed. Like SQLite, returns `true` if the folder can't be opened.
  private static func confirmFolder(of path: String) -> Bool {
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "."
    let descriptor = open(String(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return true }
    defer { close(descriptor) }
    return coffer_sync(descriptor) == 0
  }

  /// Returns the name for sqlite3_open_v2, which the first call registers.
  static func registeredName() throws(SQLiteError) -> String {
    try registration.registeredName()
  }
}
