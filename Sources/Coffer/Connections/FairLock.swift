internal import CofferRecords
internal import Dispatch
internal import Synchronization

/// Fair mutex with a timeout: threads get the lock in the order in which they asked for it.
final class FairLock: Sendable {
  private final class Waiter: Sendable {
    /// Signalled when the waiter gets the lock or is cancelled.
    let semaphore = DispatchSemaphore(value: 0)
  }

  private struct State {
    /// Only the holder knows that it holds the lock.
    var isLocked = false
    var waiters: [Waiter] = []
  }

  private let state = Mutex(State())

  /// - Parameter wait: the longest time to wait; nil waits for ever.
  /// - Throws: `locked`, `cancelled`.
  func lock(wait: Duration?, _ cancellation: Cancellation? = nil) throws(StoreError) {
    let waiter = Waiter()
    let isHolder = state.withLock { state in
      if !state.isLocked {
        state.isLocked = true
        return true
      }
      state.waiters.append(waiter)
      return false
    }
    if isHolder { return }
    cancellation?.setAction { waiter.semaphore.signal() }
    defer { cancellation?.setAction(nil) }
    let end: DispatchTime = wait.map { .now() + .nanoseconds($0.nanoseconds) } ?? .distantFuture
    _ = waiter.semaphore.wait(timeout: end)
    // `unlock` may have passed the lock on just after the timeout: then this thread holds it.
    let isLate = state.withLock { state in
      guard let place = state.waiters.firstIndex(where: { $0 === waiter }) else { return false }
      state.waiters.remove(at: place)
      return true
    }
    guard isLate else { return }
    try cancellation?.check()
    throw StoreError(.locked, "the store is locked by another thread that writes", hint: "try again, or wait longer")
  }

  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Passes the lock to the first waiter.
  func unlock() {
    state.withLock { state in
      if state.waiters.isEmpty {
        state.isLocked = false
      } else {
        state.waiters.removeFirst().semaphore.signal()
      }
    }
  }
}

extension Duration {
  fileprivate var nanoseconds: Int {
    let (seconds, attoseconds) = components
    // Capped at 34 years, so that the sum can't overflow.
    return Int(min(seconds, 1 << 30)) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
  }
}
