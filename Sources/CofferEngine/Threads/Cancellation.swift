internal import CofferPlatform
internal import CofferRecords
package import CofferSQLite
internal import Synchronization

/// Notifies work on another thread that its caller no longer waits for it.
package final class Cancellation: Sendable {
  private struct Running: Sendable {
    let cancellation: Cancellation
    let thread: UInt
  }

  @TaskLocal private static var running: Running?

  private let cancelled = Atomic<Bool>(false)
  private let action = Mutex<(@Sendable () -> Void)?>(nil)

  /// A condition that cancels, too.
  private let condition: (@Sendable () -> Bool)?
  /// Called around each step that stores the work's result.
  private let onStoring: (@Sendable (StoringStep) -> Void)?
  /// The cancellation of the enclosing work, which also cancels this work.
  private let outer: Cancellation?

  init(
    within outer: Cancellation? = nil, condition: (@Sendable () -> Bool)? = nil,
    onStoring: (@Sendable (StoringStep) -> Void)? = nil
  ) {
    self.outer = outer
    self.condition = condition
    self.onStoring = onStoring
  }

  package var isCancelled: Bool {
    cancelled.load(ordering: .acquiring) || condition?() == true || outer?.isCancelled == true
  }

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

  /// Adds an action like ``setAction(_:)``, and keeps the current action.
  ///
  /// - Returns: The previous action, to restore with ``setAction(_:)``.
  fileprivate func addAction(_ new: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? {
    action.withLock { action in
      let old = action
      action = {
        new()
        old?()
      }
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
    guard let running, running.thread == coffer_thread() else { return nil }
    return running.cancellation
  }

  package static func checkCurrent() throws(StoreError) {
    try current?.check()
  }

  /// Runs work on this thread with this cancellation as `current`.
  func run<R>(_ work: () throws -> R) rethrows -> R {
    let action = outer?.addAction { [weak self] in self?.cancel() }
    defer { outer?.setAction(action) }
    return try Self.$running.withValue(Running(cancellation: self, thread: coffer_thread())) { try work() }
  }

  /// Runs work that undoes other work, even if that was canceled.
  package static func ignoring<R>(_ work: () throws -> R) rethrows -> R {
    try $running.withValue(nil, operation: work)
  }

  /// Runs work that ends when a condition is true, which is polled while statements run.
  ///
  /// - Parameter onStoring: Called around each step of the work that stores its result.
  package static func polling<R>(
    _ condition: @escaping @Sendable () -> Bool, onStoring: (@Sendable (StoringStep) -> Void)? = nil,
    _ work: () throws -> R
  ) rethrows -> R {
    try Cancellation(within: .current, condition: condition, onStoring: onStoring).run(work)
  }

  // MARK: Work that can't be undone

  /// The progress of a step that stores the work's result, such as a commit.
  package enum StoringStep: Sendable {
    case begins, failed, done
  }

  /// Runs a step that stores the work's result. Checks the cancellation only before the step, because it's too late
  /// afterward.
  package static func storing(
    _ cancellation: Cancellation? = .current, _ step: () throws(StoreError) -> Void
  ) throws(StoreError) {
    guard let cancellation else { return try step() }
    cancellation.report(.begins)
    do throws(StoreError) {
      try cancellation.check()
      try step()
    } catch {
      cancellation.report(.failed)
      throw error
    }
    cancellation.report(.done)
  }

  private func report(_ step: StoringStep) {
    onStoring?(step)
    outer?.report(step)
  }

  /// Ends a connection's statements and waits when work is canceled, until the watch ends. Work on two stores has two
  /// watches, and both connections stop.
  package struct Watch {
    private let cancellation: Cancellation?
    private let outer: (@Sendable () -> Void)?
    private let database: Database

    /// - Parameter cancellation: The cancellation, or `nil` for the current work's.
    package init(_ database: Database, for given: Cancellation? = nil) {
      let handle = database.interruptHandle
      self.database = database
      let cancellation = given ?? .current
      self.cancellation = cancellation
      outer = cancellation?.addAction { handle.stop() }
      guard let cancellation else { return }
      // An interrupt is lost if it arrives between two statements, so statements ask, too.
      try? database.setStopCondition { cancellation.isCancelled }
    }

    package func end() {
      guard let cancellation else { return }
      try? database.setStopCondition(nil)
      cancellation.setAction(outer)
      database.interruptHandle.resume()
    }
  }
}
