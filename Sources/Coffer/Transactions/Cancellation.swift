internal import CofferRecords
internal import Synchronization

/// Tells work on another thread that nobody waits for it any more.
final class Cancellation: Sendable {
  private let cancelled = Atomic<Bool>(false)
  private let action = Mutex<(@Sendable () -> Void)?>(nil)

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() {
    cancelled.store(true, ordering: .releasing)
    action.withLock { $0?() }
  }

  /// What wakes the work where it waits, done at once where it is late; nil once it no longer waits there.
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
