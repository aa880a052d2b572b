internal import CofferPlatform
internal import CofferRecords
package import CofferSQLite
internal import Synchronization

/// The identity of a file in this process, which all its paths share.
struct FileIdentity: Hashable {
  /// The process, because a forked child doesn't share locks with its parent.
  private let process: UInt64
  private let device: UInt64
  private let file: UInt64

  init(_ status: stat) {
    process = OwnProcess.number
    device = status.device
    file = status.number
  }
}

/// A file's writer queue and other state, shared by all of this process's open stores of the file.
///
/// SQLite treats each open store like a separate process. Without this queue, writers would poll for the lock in random
/// order, and a thread that writes to two stores would wait for itself. ``WriteAheadLock`` has its own registry because
/// its descriptor can outlive the last store of its file.
package final class ProcessLocks: Sendable {
  private struct Entry {
    weak var locks: ProcessLocks?
  }

  private static let all = Mutex<[FileIdentity: Entry]>([:])

  package let writers = FairSemaphore()
  /// Readers that add many documents to an index in memory, for their session.
  package let indexReaders = FairSemaphore()
  /// The thread for calls that write and that tasks wait for.
  let writingCalls = FairSemaphore()
  /// The thread inside `write`, or 0.
  let writer = Atomic<UInt>(0)
  /// The nesting depth of each thread inside `read` in rollback journal mode.
  private let reading = Mutex<[UInt: Int]>([:])
  /// The number of read transactions that have SQLite's lock, and whether a write transaction has it.
  let readersWithLock = Atomic<Int>(0)
  let writerHasLock = Atomic<Bool>(false)
  /// The reads in WAL mode by their numbers, which rise in the order of their beginnings.
  private let logReads = Mutex<(active: Set<UInt64>, next: UInt64)>(([], 0))
  private let identity: FileIdentity?
  private let companions = Mutex<[ObjectIdentifier: any FileCompanion]>([:])

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

  /// Returns the state that another target keeps on the file.
  package func companion<Companion: FileCompanion>(_ type: Companion.Type) -> Companion {
    companions.withLock { $0.companion(type) }
  }

  /// Runs work that writes to the file without an open store.
  ///
  /// - Throws: `misuse` inside this thread's `read` or `write`, which would wait for itself, or `cancelled`.
  package func asWriter<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    let thread = coffer_thread()
    guard writer.load(ordering: .acquiring) != thread else { throw Self.nestedWrite }
    guard !isReading(thread) else {
      throw StoreError(
        .misuse, "this call needs the lock of writers, and would wait without end for the read that it is in",
        hint: "end the read first")
    }
    try writers.wait(nil, .current)
    writer.store(thread, ordering: .releasing)
    defer {
      writer.store(0, ordering: .releasing)
      writers.signal()
    }
    return try work()
  }

  // MARK: Readers in rollback journal mode

  /// Counts the time that a connection's statements wait for this process separately from its waiting time.
  ///
  /// - Parameter isRegistered: Whether a thread is registered as a reader before it waits with this connection.
  package func attach(to connection: Database, isRegistered: Bool) {
    connection.holdsLockHere = { self.blocksThisThread(ownReads: isRegistered ? 1 : 0) }
  }

  /// Runs work that holds SQLite's read lock without an open store.
  func asReader<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    let thread = coffer_thread()
    beginReading(thread)
    readersWithLock.add(1, ordering: .acquiringAndReleasing)
    defer {
      readersWithLock.subtract(1, ordering: .acquiringAndReleasing)
      endReading(thread)
    }
    return try work()
  }

  /// Runs a statement of the writer that readers of this process may have to wait for.
  package func excludingReaders<R, E: Error>(_ work: () throws(E) -> R) throws(E) -> R {
    writerHasLock.store(true, ordering: .releasing)
    defer { writerHasLock.store(false, ordering: .releasing) }
    return try work()
  }

  /// Returns whether a transaction of this process holds the lock that this thread's statement waits for. A writer
  /// waits for readers only after it has begun, and a reader waits for a writer.
  ///
  /// - Parameter ownReads: The number of this thread's reads that are registered for the statement. The writer may wait
  ///   for any other read of this thread, so waiting for the writer must end.
  private func blocksThisThread(ownReads: Int) -> Bool {
    guard writerHasLock.load(ordering: .acquiring) else { return false }
    let thread = coffer_thread()
    if writer.load(ordering: .acquiring) == thread {
      return readersWithLock.load(ordering: .acquiring) > 0 && !isAwaitedByReader(thread)
    }
    return reading.withLock { $0[thread, default: 0] } <= ownReads
  }

  /// Returns whether a reader of this file writes another file that the writer's thread reads, or whose readers are in
  /// turn such readers. Their commits would wait for each other, as in two merges of two stores with each other, so one
  /// of the waits must end.
  private func isAwaitedByReader(_ thread: UInt) -> Bool {
    var others = Self.all.withLock { $0.values.compactMap { $0.locks } }
    var readers = reading.withLock { Set($0.keys) }
    readers.remove(thread)
    while true {
      let written = others.filter { readers.contains($0.writer.load(ordering: .acquiring)) }
      if written.isEmpty { return false }
      if written.contains(where: { $0.isReading(thread) }) { return true }
      others.removeAll { other in written.contains { $0 === other } }
      for other in written { readers.formUnion(other.reading.withLock { Array($0.keys) }) }
    }
  }

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

  // MARK: Readers in WAL mode

  /// Registers a read before it can begin to use the log. Returns its number.
  func beginReadingLog() -> UInt64 {
    logReads.withLock { reads in
      defer { reads.next += 1 }
      reads.active.insert(reads.next)
      return reads.next
    }
  }

  func endReadingLog(_ number: UInt64) {
    _ = logReads.withLock { $0.active.remove(number) }
  }

  /// Runs work that reads the file without an open store. A change of keys inside it must not wait for it without a limit.
  func readingLog<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    let number = beginReadingLog()
    ThreadScopes.begin()
    defer {
      ThreadScopes.end()
      endReadingLog(number)
    }
    return try work()
  }

  /// The number of the next read.
  var nextLogRead: UInt64 { logReads.withLock { $0.next } }

  /// Returns whether a read with a lower number hasn't ended.
  func isReadingLog(before number: UInt64) -> Bool {
    logReads.withLock { $0.active.contains { $0 < number } }
  }

  /// SQLite's lock of a read transaction, for which a writer of this process may have to wait.
  struct ReadLock: ~Copyable {
    private let locks: ProcessLocks

    init(_ locks: ProcessLocks) {
      self.locks = locks
      locks.readersWithLock.add(1, ordering: .acquiringAndReleasing)
    }

    deinit { locks.readersWithLock.subtract(1, ordering: .acquiringAndReleasing) }
  }

  /// SQLite's lock of a write transaction, for which readers of this process may have to wait.
  struct WriteLock: ~Copyable {
    private let locks: ProcessLocks

    init(_ locks: ProcessLocks) {
      self.locks = locks
      locks.writerHasLock.store(true, ordering: .releasing)
    }

    deinit { locks.writerHasLock.store(false, ordering: .releasing) }
  }

  /// The error of a write inside of the write of another open store of the file.
  static var nestedWrite: StoreError {
    StoreError(
      .misuse, "write inside of the write of another open store of the same file would wait for itself",
      hint: "write with what the outer write was given, or end it first")
  }
}
