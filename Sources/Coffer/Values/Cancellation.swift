internal import CofferRecords
internal import CofferSQLite
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#endif

/// Tells work on another thread that its caller no longer waits for it.
final class Cancellation: Sendable {
  private struct Running: Sendable {
    let cancellation: Cancellation
    let thread: pthread_t
  }

  @TaskLocal private static var running: Running?

  private let cancelled = Atomic<Bool>(false)
  private let action = Mutex<(@Sendable () -> Void)?>(nil)

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() {
    cancelled.store(true, ordering: .releasing)
    action.withLock { $0?() }
  }

  /// Sets how `cancel` wakes the work while it waits; runs at once if already cancelled. nil: the work no longer waits.
  ///
  /// - Returns: the action until now, to be set again when this wait is over.
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

  /// The cancellation of the work that this thread does; nil if its caller waits in any case.
  static var current: Cancellation? {
    guard let running, pthread_equal(running.thread, pthread_self()) != 0 else { return nil }
    return running.cancellation
  }

  static func checkCurrent() throws(StoreError) {
    try current?.check()
  }

  /// Runs work on this thread as `current`.
  func run<R>(_ work: () throws -> R) rethrows -> R {
    try Self.$running.withValue(Running(cancellation: self, thread: pthread_self())) { try work() }
  }

  /// Lets cancelling the current work interrupt a connection, until the watch ends.
  struct Watch {
    private let cancellation: Cancellation?
    private let outer: (@Sendable () -> Void)?
    private let handle: InterruptHandle

    init(_ database: Database) {
      let handle = database.interruptHandle
      self.handle = handle
      cancellation = .current
      outer = cancellation?.setAction { handle.stop() }
    }

    func end() {
      guard let cancellation else { return }
      cancellation.setAction(outer)
      handle.resume()
    }
  }
}
