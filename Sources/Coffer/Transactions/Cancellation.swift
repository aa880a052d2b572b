internal import CofferRecords
internal import Synchronization

/// Tells work on another thread that its caller no longer waits for it.
final class Cancellation: Sendable {
  private let cancelled = Atomic<Bool>(false)
  private let action = Mutex<(@Sendable () -> Void)?>(nil)

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() {
    cancelled.store(true, ordering: .releasing)
    action.withLock { $0?() }
  }

  /// Sets how `cancel` wakes the work while it waits; runs at once if already cancelled. nil: the work no longer waits.
  func setAction(_ new: (@Sendable () -> Void)?) {
    action.withLock { action in
      action = new
      if isCancelled { action?() }
    }
  }

  func check() throws(StoreError) {
    if isCancelled { throw StoreError(.cancelled, "cancelled; nothing of this transaction was stored") }
  }
}
