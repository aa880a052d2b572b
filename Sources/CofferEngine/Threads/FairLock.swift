package import CofferRecords
internal import Dispatch
internal import Synchronization

/// A fair mutex with a timeout. Threads get the lock in the order of their requests.
package final class FairLock: Sendable {
  private final class Waiter: Sendable {
    /// Signaled when the waiter gets the lock, is canceled or is dismissed.
    let semaphore = DispatchSemaphore(value: 0)
    let owner: ObjectIdentifier?
    let isDismissed = Atomic<Bool>(false)

    init(_ owner: ObjectIdentifier?) {
      self.owner = owner
    }
  }

  private struct State {
    /// Whether any thread holds the lock. The holder isn't recorded.
    var isLocked = false
    var waiters: [Waiter] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// Acquires the lock.
  ///
  /// - Parameters:
  ///   - wait: The maximum time to wait, or `nil` to wait indefinitely.
  ///   - owner: The owner whose waiting threads ``dismiss(_:)`` stops.
  /// - Throws: `locked`, `cancelled`, or `closed` if the waiter was dismissed.
  package func lock(
    wait: Duration?, owner: ObjectIdentifier? = nil, _ cancellation: Cancellation? = nil
  ) throws(StoreError) {
    let waiter = Waiter(owner)
    let isHolder = state.withLock { state in
      if !state.isLocked {
        state.isLocked = true
        return true
      }
      state.waiters.append(waiter)
      return false
    }
    if isHolder { return }
    let outer = cancellation?.setAction { waiter.semaphore.signal() }
    defer { cancellation?.setAction(outer) }
    let end: DispatchTime = wait.map { .now() + .nanoseconds($0.nanoseconds) } ?? .distantFuture
    _ = waiter.semaphore.wait(timeout: end)
    // This thread holds the lock if `unlock` passed it right after the timeout.
    let isLate = state.withLock { state in
      guard let place = state.waiters.firstIndex(where: { $0 === waiter }) else { return false }
      state.waiters.remove(at: place)
      return true
    }
    guard !waiter.isDismissed.load(ordering: .acquiring) else { throw .storeClosed }
    guard isLate else { return }
    try cancellation?.check()
    throw StoreError(.locked, "the store is locked by another thread that writes", hint: "try again, or wait longer")
  }

  /// Stops the waiting threads of an owner whose store was closed.
  func dismiss(_ owner: ObjectIdentifier) {
    state.withLock { state in
      for waiter in state.waiters where waiter.owner == owner {
        waiter.isDismissed.store(true, ordering: .releasing)
        waiter.semaphore.signal()
      }
      state.waiters.removeAll { $0.owner == owner }
    }
  }

  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Passes the lock to the first waiter.
  package func unlock() {
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
    guard self > .zero else { return 0 }
    let (seconds, attoseconds) = components
    // Limit the time to 34 years to prevent overflow.
    return Int(min(seconds, 1 << 30)) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
  }
}
