internal import CCofferSQLite

/// Waits while another connection holds the lock, as long as the busy timeout says or until interrupted.
///
/// SQLite's own timeout can't be interrupted while it sleeps.
final class BusyWaiter {
  /// nil: for ever.
  var timeout: Duration?
  /// Returns whether this process itself holds the lock. The timeout doesn't count that time.
  var holdsLockHere: (() -> Bool)?
  /// The connection's stop condition, which ends waits, too.
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

  /// Lives at least as long as the connection: it is passed to SQLite unretained.
  func attach(to handle: OpaquePointer) {
    sqlite3_busy_handler(
      handle,
      { context, attempts in
        Unmanaged<BusyWaiter>.fromOpaque(context!).takeUnretainedValue().wait(attempts: attempts) ? 1 : 0
      },
      Unmanaged.passUnretained(self).toOpaque())
  }

  /// True if an interrupt ended the wait that led to the current error.
  func takeInterruption() -> Bool {
    defer { wasInterrupted = false }
    return wasInterrupted
  }

  /// Sleeps a little; false: give up.
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

  /// In milliseconds. Short at first, because most locks are; short again after seconds, because among processes who
  /// looks most often is the next to have the lock, and that should be who has waited longest.
  private static func pause(attempts: Int32, waited: Duration) -> Int32 {
    if waited > .seconds(2) { return 2 }
    if waited > .seconds(1) { return 10 }
    return pauses[min(Int(attempts), pauses.count - 1)]
  }

  private static let pauses: [Int32] = [1, 1, 2, 5, 10, 15, 20, 25, 25, 50]
}
