internal import CCofferSQLite
internal import CofferPlatform

/// A VFS of this package: a copy of the system's with some methods replaced, registered once in each process.
struct VFSRegistration: Sendable {
  /// The name for sqlite3_open_v2.
  private let name: String
  private let result: Int32

  // Set once; from then on only SQLite reads it.
  nonisolated(unsafe) static let system = sqlite3_vfs_find(nil)

  /// - Parameter change: replaces methods of the copy, before SQLite sees it.
  init(_ name: String, _ change: (inout sqlite3_vfs) -> Void) {
    self.name = name
    guard let system = Self.system, let copied = strdup(name) else {
      result = SQLITE_NOMEM
      return
    }
    // Never freed: SQLite keeps it until the process ends.
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: system.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.zName = UnsafePointer(copied)
    change(&vfs.pointee)
    result = sqlite3_vfs_register(vfs, 0)
  }

  /// - Throws: SQLite's error if it did not register the VFS.
  func registeredName() throws(SQLiteError) -> String {
    guard result == SQLITE_OK else {
      throw SQLiteError(SQLiteError.Code(result: result), SQLiteError.plainMessage(result), extendedCode: result)
    }
    return name
  }
}
