internal import CCofferSQLite

/// Waits while another connection holds the lock, until the busy timeout ends or the connection is interrupted.
///
/// SQLite's own timeout can't be interrupted while it sleeps.
final class BusyWaiter {
  /// The busy timeout, or `nil` to wait indefinitely.
  var timeout: Duration?
  /// Returns whether this process itself holds the lock. The timeout doesn't count that time.
  var holdsLockHere: (() -> Bool)?
  /// The connection's stop condition, which also ends waits.
  var shouldStop: (@Sendable () -> Bool)?
  private let interrupts: InterruptHandle
  private var start = ContinuousClock.now
  /// The part of the current wait that doesn't count.
  private var uncounted = Duration.zero
  private var interruptsAtStart = 0
  private var wasInterrupted = false

  init(timeout: Duration?, interrupts: InterruptHandle) {
    self.timeout = timeout
    self.interrupts = interrupts
  }

  /// Attaches the waiter to a connection. The waiter must live at least as long as the connection, because SQLite
  /// receives an unretained reference.
  func attach(to handle: OpaquePointer) {
    sqlite3_busy_handler(
      handle,
      { context, attempts in
        Unmanaged<BusyWaiter>.fromOpaque(context!).takeUnretainedValue().wait(attempts: attempts) ? 1 : 0
      },
      Unmanaged.passUnretained(self).toOpaque())
  }

  /// Returns whether an interrupt ended the wait that led to the current error.
  func takeInterruption() -> Bool {
    defer { wasInterrupted = false }
    return wasInterrupted
  }

  /// Sleeps briefly. Returns `false` to give up.
  private func wait(attempts: Int32) -> Bool {
    if attempts == 0 {
      wasInterrupted = false
      interruptsAtStart = interrupts.count
      start = .now
      uncounted = .zero
    }
    guard interrupts.count == interruptsAtStart, !interrupts.isStopped, shouldStop?() != true else {
      wasInterrupted = true
      return false
    }
    let waited = ContinuousClock.now - start
    let pause = Self.pause(attempts: attempts, waited: waited)
    if timeout != nil, holdsLockHere?() == true {
      let start = ContinuousClock.now
      sqlite3_sleep(pause)
      uncounted += .now - start
    } else if let timeout {
      let left = timeout - (waited - uncounted)
      guard left > .zero else { return false }
      sqlite3_sleep(left < .milliseconds(Int(pause)) ? 1 : pause)
    } else {
      sqlite3_sleep(pause)
    }
    return true
  }

  /// Returns the pause in milliseconds. Pauses are short at first, because most locks are short. After one or two
  /// seconds, they're short again, because the process that polls most often gets the lock next, and that should be the
  /// process that has waited longest.
  private static func pause(attempts: Int32, waited: Duration) -> Int32 {
    if waited > .seconds(2) { return 2 }
    if waited > .seconds(1) { return 10 }
    return pauses[min(Int(attempts), pauses.count - 1)]
  }

  private static let pauses: [Int32] = [1, 1, 2, 5, 10, 15, 20, 25, 25, 50]
}
