internal import CofferPlatform
internal import CofferRecords
internal import Synchronization

/// The identity of a file in this process, which all its paths share.
struct FileIdentity: Hashable {
  /// The process, because a forked child doesn't share locks with its parent.
  private let process: pid_t
  private let device: UInt64
  private let file: UInt64

  init(_ status: stat) {
    process = getpid()
    device = UInt64(status.st_dev)
    file = UInt64(status.st_ino)
  }
}

/// The writer queue of a file, shared by all stores that this process has opened on it.
///
/// SQLite treats each open store like a separate process. Without this queue, writers would poll for the lock in random
/// order, and a thread that writes to two stores would wait for itself. ``WriteAheadLock`` has its own registry because
/// its descriptor can outlive the last store of its file.
package final class ProcessLocks: Sendable {
  private struct Entry {
    weak var locks: ProcessLocks?
  }

  private static let all = Mutex<[FileIdentity: Entry]>([:])

  let writers = FairLock()
  /// The thread inside `write`, or 0.
  let writer = Atomic<UInt>(0)
  /// The nesting depth of each thread inside `read` in rollback journal mode.
  private let reading = Mutex<[UInt: Int]>([:])
  private let identity: FileIdentity?
  /// The number of open stores.
  let openStores = Atomic<Int>(0)

  private init(_ identity: FileIdentity?) {
    self.identity = identity
  }

  deinit {
    guard let identity else { return }
    Self.all.withLock { if $0[identity]?.locks == nil { $0[identity] = nil } }
  }

  /// Returns the locks for the file at `path`, which are unshared if the file doesn't exist.
  package static func of(_ path: String) -> ProcessLocks {
    var status = stat()
    guard stat(path, &status) == 0 else { return ProcessLocks(nil) }
    let identity = FileIdentity(status)
    return all.withLock { all in
      if let known = all[identity]?.locks { return known }
      let locks = ProcessLocks(identity)
      all[identity] = Entry(locks: locks)
      return locks
    }
  }

  /// Returns whether this process has a store open on the file at `path`.
  static func isOpen(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    let identity = FileIdentity(status)
    return all.withLock { all in (all[identity]?.locks?.openStores.load(ordering: .acquiring) ?? 0) > 0 }
  }

  /// Runs work that writes to the file without an open store.
  ///
  /// - Throws: `misuse` inside this thread's `read` or `write`, which would wait for itself, `locked`, or
  ///   `cancelled`.
  package func asWriter<R>(wait: Duration?, _ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    let thread = UInt(pthread_self())
    guard writer.load(ordering: .acquiring) != thread else { throw Self.nestedWrite }
    guard !isReading(thread) else {
      throw StoreError(
        .misuse, "this call needs the lock of writers, and would wait without end for the read that it is in",
        hint: "end the read first")
    }
    try writers.lock(wait: wait, .current)
    writer.store(thread, ordering: .releasing)
    defer {
      writer.store(0, ordering: .releasing)
      writers.unlock()
    }
    return try work()
  }

  // MARK: Readers in rollback journal mode

  func beginReading(_ thread: UInt) {
    reading.withLock { $0[thread, default: 0] += 1 }
  }

  func endReading(_ thread: UInt) {
    reading.withLock { reading in
      reading[thread, default: 1] -= 1
      if reading[thread] == 0 { reading[thread] = nil }
    }
  }

  func isReading(_ thread: UInt) -> Bool {
    reading.withLock { $0[thread] != nil }
  }

  /// The error of a write inside of the write of another open store of the file.
  static var nestedWrite: StoreError {
    StoreError(
      .misuse, "write inside of the write of another open store of the same file would wait for itself",
      hint: "write with what the outer write was given, or end it first")
  }
}
