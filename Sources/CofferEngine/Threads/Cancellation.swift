internal import CofferPlatform
internal import CofferRecords
package import CofferSQLite
internal import Synchronization

/// Notifies work on another thread that its caller no longer waits for it.
package final class Cancellation: Sendable {
  private struct Running: Sendable {
    let cancellation: Cancellation
    let thread: pthread_t
  }

  @TaskLocal private static var running: Running?

  private let cancelled = Atomic<Bool>(false)
  private let action = Mutex<(@Sendable () -> Void)?>(nil)

  package var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() {
    cancelled.store(true, ordering: .releasing)
    action.withLock { $0?() }
  }

  /// Sets the action that `cancel` runs to wake waiting work, or `nil` after the wait. Runs it now if already canceled.
  ///
  /// - Returns: The previous action, to restore after this wait.
  @discardableResult
  func setAction(_ new: (@Sendable () -> Void)?) -> (@Sendable () -> Void)? {
    action.withLock { action in
      let old = action
      action = new
      if isCancelled { action?() }
      return old
    }
  }

  func check() throws(StoreError) {
    if isCancelled { throw StoreError(.cancelled, "cancelled; nothing of this transaction was stored") }
  }

  // MARK: Work that asks for its cancellation

  /// The cancellation for this thread's current work, or `nil` if the work can't be canceled.
  package static var current: Cancellation? {
    guard let running, pthread_equal(running.thread, pthread_self()) != 0 else { return nil }
    return running.cancellation
  }

  package static func checkCurrent() throws(StoreError) {
    try current?.check()
  }

  /// Runs work on this thread with this cancellation as `current`.
  func run<R>(_ work: () throws -> R) rethrows -> R {
    try Self.$running.withValue(Running(cancellation: self, thread: pthread_self())) { try work() }
  }

  /// Interrupts a connection when the current work is canceled, until the watch ends.
  package struct Watch {
    private let cancellation: Cancellation?
    private let outer: (@Sendable () -> Void)?
    private let handle: InterruptHandle

    package init(_ database: Database) {
      let handle = database.interruptHandle
      self.handle = handle
      cancellation = .current
      outer = cancellation?.setAction { handle.stop() }
    }

    package func end() {
      guard let cancellation else { return }
      cancellation.setAction(outer)
      handle.resume()
    }
  }
}
