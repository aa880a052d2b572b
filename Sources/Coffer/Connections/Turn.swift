internal import CofferRecords
internal import Dispatch
internal import Synchronization

/// One thread at a time, in the order that they come, none waiting longer than it was told to.
final class Turn: Sendable {
  private final class Waiter: Sendable {
    /// Signalled when its turn has come, or it was cancelled.
    let semaphore = DispatchSemaphore(value: 0)
  }

  private struct State {
    /// Whose turn it is is known to him alone.
    var isTaken = false
    var waiting: [Waiter] = []
  }

  private let state = Mutex(State())

  /// - Parameter wait: nil waits for ever.
  /// - Throws: `locked`, `cancelled`.
  func take(wait: Duration?, _ cancellation: Cancellation? = nil) throws(StoreError) {
    let waiter = Waiter()
    let isMine = state.withLock { state in
      if !state.isTaken {
        state.isTaken = true
        return true
      }
      state.waiting.append(waiter)
      return false
    }
    if isMine { return }
    cancellation?.setAction { waiter.semaphore.signal() }
    defer { cancellation?.setAction(nil) }
    let end: DispatchTime = wait.map { .now() + .nanoseconds($0.nanoseconds) } ?? .distantFuture
    _ = waiter.semaphore.wait(timeout: end)
    // The turn may have come in the last moment: then it is taken.
    let isLate = state.withLock { state in
      guard let place = state.waiting.firstIndex(where: { $0 === waiter }) else { return false }
      state.waiting.remove(at: place)
      return true
    }
    guard isLate else { return }
    try cancellation?.check()
    throw StoreError(.locked, "the store is locked by another thread that writes", hint: "try again, or wait longer")
  }

  /// How many wait.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  func give() {
    state.withLock { state in
      if state.waiting.isEmpty {
        state.isTaken = false
      } else {
        state.waiting.removeFirst().semaphore.signal()
      }
    }
  }
}

extension Duration {
  fileprivate var nanoseconds: Int {
    let (seconds, attoseconds) = components
    // Thirty years are as good as more.
    return Int(min(seconds, 1 << 30)) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
  }
}
