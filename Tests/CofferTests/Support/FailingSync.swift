import Foundation
import Synchronization

@testable import Coffer
@testable import CofferSQLite

/// Makes the disk of one connection fail to confirm what is written, as often as asked, and then confirm again.
///
/// Replaces `xSync` among the functions that SQLite calls for that file (sqlite.org/c3ref/io_methods.html).
enum FailingSync {
  private typealias Sync = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32
  private typealias FileControl =
    @convention(c) (OpaquePointer, UnsafePointer<CChar>, Int32, UnsafeMutableRawPointer) -> Int32

  /// SQLITE_FCNTL_FILE_POINTER, and SQLITE_FCNTL_JOURNAL_POINTER, which is the log where there is one.
  enum File: Int32 {
    case database = 7
    case log = 28
  }

  private static let left = Atomic<Int>(0)
  /// The same for every file of the system's.
  private static let original = Mutex<Sync?>(nil)
  /// The version and 18 functions, of which `xSync` is the fifth.
  private static let methodCount = 19
  private static let syncIndex = 5

  static func fail(_ file: File, of writer: borrowing StoreWriter, times: Int) throws {
    let handle = try writer.transaction.database.connection.connection.open()
    guard let function = dlsym(nil, "sqlite3_file_control") else { throw Interruption() }
    let control = unsafeBitCast(function, to: FileControl.self)
    var found: UnsafeMutablePointer<UnsafeMutablePointer<Int>>?
    guard control(handle, "main", file.rawValue, &found) == 0, let found else { throw Interruption() }
    // Lives as long as the process: the connection may ask it at any time.
    let methods = UnsafeMutablePointer<Int>.allocate(capacity: methodCount)
    methods.initialize(from: found.pointee, count: methodCount)
    original.withLock { $0 = $0 ?? unsafeBitCast(methods[syncIndex], to: Sync.self) }
    let failing: Sync = { file, flags in
      if FailingSync.left.load(ordering: .relaxed) > 0 {
        FailingSync.left.subtract(1, ordering: .relaxed)
        return 1034  // SQLITE_IOERR_FSYNC
      }
      return FailingSync.original.withLock { $0! }(file, flags)
    }
    methods[syncIndex] = unsafeBitCast(failing, to: Int.self)
    found.pointee = methods
    left.store(times, ordering: .relaxed)
  }
}
