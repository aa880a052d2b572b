internal import CCofferSQLite
internal import Synchronization

/// A handle that stops a connection's work from any thread. It can safely outlive the connection.
public final class InterruptHandle: Sendable {
  private let connection: Mutex<OpaquePointer?>
  private let calls = Atomic<Int>(0)
  private let stopped = Atomic<Bool>(false)

  init() { connection = Mutex(nil) }

  /// Ends the connection's current call with `SQLiteError.Code.interrupted`, including a wait for a lock.
  ///
  /// An interrupted write rolls back its transaction. Without a current call, the method has no effect.
  public func interrupt() {
    calls.add(1, ordering: .sequentiallyConsistent)
    connection.withLock { if let handle = $0 { sqlite3_interrupt(handle) } }
  }

  /// Interrupts the current call like `interrupt()`, and prevents waiting for locks until `resume()`.
  package func stop() {
    stopped.store(true, ordering: .sequentiallyConsistent)
    interrupt()
  }

  /// Ends a wait for a lock, and prevents other waits. Running statements continue to the end.
  package func stopWaiting() {
    stopped.store(true, ordering: .sequentiallyConsistent)
  }

  package func resume() { stopped.store(false, ordering: .sequentiallyConsistent) }

  /// Whether ``stop()`` or ``stopWaiting()`` was called since ``resume()``.
  package var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }

  /// The number of `interrupt()` calls.
  var count: Int { calls.load(ordering: .sequentiallyConsistent) }

  func attach(_ handle: OpaquePointer) {
    let address = UInt(bitPattern: handle)
    connection.withLock { $0 = OpaquePointer(bitPattern: address) }
  }

  /// Detaches the connection before it's closed, so `interrupt()` has no effect afterward.
  func detach() { connection.withLock { $0 = nil } }
}
