import Coffer
import Foundation
import Synchronization

@testable import CofferSQLite
@testable import CofferStoreTestSupport

/// Makes a given number of syncs of a connection's file fail.
///
/// Replaces `xSync` in the I/O methods that SQLite calls for the file (sqlite.org/c3ref/io_methods.html).
enum FailingSync {
  private typealias Sync = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32
  private typealias FileControl =
    @convention(c) (OpaquePointer, UnsafePointer<CChar>, Int32, UnsafeMutableRawPointer) -> Int32

  /// SQLITE_FCNTL_FILE_POINTER and SQLITE_FCNTL_JOURNAL_POINTER. With a write-ahead log, the journal is the log.
  enum File: Int32 {
    case database = 7
    case log = 28
  }

  private static let left = Atomic<Int>(0)
  /// The original function, which all files of the operating system share.
  private static let original = Mutex<Sync?>(nil)
  /// The version and 18 functions. `xSync` is the fifth function.
  private static let methodCount = 19
  private static let syncIndex = 5

  static func fail(_ file: File, of writer: borrowing WriteTransaction, times: Int) throws {
    let handle = try writer.transaction.database.connection.connection.open()
    guard let function = dlsym(nil, "sqlite3_file_control") else { throw Interruption() }
    let control = unsafeBitCast(function, to: FileControl.self)
    var found: UnsafeMutablePointer<UnsafeMutablePointer<Int>>?
    guard control(handle, "main", file.rawValue, &found) == 0, let found else { throw Interruption() }
    // Never deallocated, because the connection may use it at any time.
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
