internal import CCofferSQLite
internal import CofferPlatform

/// A VFS from this package, which is a copy of the system's VFS with some methods replaced. It's registered once in
/// each process.
struct VFSRegistration: Sendable {
  /// The name for sqlite3_open_v2.
  private let name: String
  private let result: Int32

  // After initialization, only SQLite reads it.
  nonisolated(unsafe) static let system = sqlite3_vfs_find(nil)

  /// - Parameter change: Replaces the copy's methods before SQLite registers it.
  init(_ name: String, _ change: (inout sqlite3_vfs) -> Void) {
    self.name = name
    guard let system = Self.system, let copied = strdup(name) else {
      result = SQLITE_NOMEM
      return
    }
    // Never free it, because SQLite keeps it until the process ends.
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: system.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.zName = UnsafePointer(copied)
    change(&vfs.pointee)
    result = sqlite3_vfs_register(vfs, 0)
  }

  /// - Throws: SQLite's error if it couldn't register the VFS.
  func registeredName() throws(SQLiteError) -> String {
    guard result == SQLITE_OK else {
      throw SQLiteError(SQLiteError.Code(result: result), SQLiteError.plainMessage(result), extendedCode: result)
    }
    return name
  }
}
