internal import CCofferSQLite
internal import Synchronization

/// Stops a connection's work from any thread; outlives the connection harmlessly.
public final class InterruptHandle: Sendable {
  private let connection: Mutex<OpaquePointer?>
  private let calls = Atomic<Int>(0)
  private let stopped = Atomic<Bool>(false)

  init() { connection = Mutex(nil) }

  /// Ends the present call on the connection with `SQLiteError.Code.interrupted`, waiting for a lock included.
  ///
  /// An interrupted write rolls its transaction back. When nothing runs, nothing happens.
  public func interrupt() {
    calls.add(1, ordering: .sequentiallyConsistent)
    connection.withLock { if let handle = $0 { sqlite3_interrupt(handle) } }
  }

  /// As `interrupt()`, and until `resume()` no wait for a lock begins either.
  package func stop() {
    stopped.store(true, ordering: .sequentiallyConsistent)
    interrupt()
  }

  /// Ends a wait for a lock, and lets no other begin; statements that run go on to their end.
  package func stopWaiting() {
    stopped.store(true, ordering: .sequentiallyConsistent)
  }

  package func resume() { stopped.store(false, ordering: .sequentiallyConsistent) }

  /// Whether ``stop()`` or ``stopWaiting()`` was called since ``resume()``.
  package var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }

  /// How often `interrupt()` has been called.
  var count: Int { calls.load(ordering: .sequentiallyConsistent) }

  func attach(_ handle: OpaquePointer) {
    let address = UInt(bitPattern: handle)
    connection.withLock { $0 = OpaquePointer(bitPattern: address) }
  }

  /// Before the connection is closed: afterwards `interrupt()` finds nothing to stop.
  func detach() { connection.withLock { $0 = nil } }
}
