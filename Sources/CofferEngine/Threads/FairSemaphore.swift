package import CofferRecords
internal import Dispatch
internal import Synchronization

/// A fair semaphore: threads and tasks get turns in the order of their requests. With one turn, it's a fair mutex.
///
/// A waiting task uses no thread.
package final class FairSemaphore: Sendable {
  /// The end of a wait.
  private enum Outcome {
    case turn, cancelled, late
    case dismissed(StoreError)
  }

  private struct Waiter {
    let owner: Session?
    let wake: @Sendable (Outcome) -> Void
  }

  private struct State {
    /// The number of free turns. It's negative after ``takeTurn()``.
    var free: Int
    /// The waiters by number. Numbers rise in the order of requests.
    var waiters: [UInt64: Waiter] = [:]
    /// No waiter has a lower number.
    var first: UInt64 = 0
    var next: UInt64 = 0

    mutating func removeFirst() -> Waiter? {
      while first < next {
        first += 1
        if let waiter = waiters.removeValue(forKey: first - 1) { return waiter }
      }
      return nil
    }
  }

  private let state: Mutex<State>

  package init(count: Int = 1) {
    state = Mutex(State(free: count))
  }

  package var waiterCount: Int { state.withLock { $0.waiters.count } }

  // MARK: Waiting

  /// Waits for a turn on this thread.
  ///
  /// - Parameters:
  ///   - wait: The maximum time to wait, or `nil` to wait indefinitely.
  ///   - owner: The store whose waits ``dismiss(_:with:)`` ends.
  /// - Throws: `locked`, `cancelled`, or the error that the wait was dismissed with.
  package func wait(
    _ wait: Duration?, owner: Session? = nil, _ cancellation: Cancellation? = nil
  ) throws(StoreError) {
    let thread = WaitingThread()
    guard let number = add(Waiter(owner: owner, wake: { thread.end(with: $0) })) else { return }
    requireRunning(owner, number)
    let outer = cancellation?.setAction { [weak self] in self?.end(number, with: .cancelled) }
    defer { cancellation?.setAction(outer) }
    let end: DispatchTime = wait.map { .now() + .nanoseconds($0.nanoseconds) } ?? .distantFuture
    if thread.semaphore.wait(timeout: end) == .timedOut {
      self.end(number, with: .late)
      // The turn may have come right after the timeout.
      thread.semaphore.wait()
    }
    switch thread.outcome.withLock({ $0 }) {
    case .turn: return
    case .dismissed(let error): throw error
    case .late:
      throw StoreError(.locked, "the store is locked by another thread that writes", hint: "try again, or wait longer")
    case .cancelled, nil: throw StoreError(.cancelled, "cancelled; nothing of this transaction was stored")
    }
  }

  /// Waits for a turn without a thread, and gives it to `start`, which resumes the task when its work is done.
  ///
  /// The task doesn't get the turn, because it may not continue soon if all shared task threads are in calls that wait
  /// for this turn.
  ///
  /// - Throws: The error that the wait was dismissed with, `CancellationError`, or the error of the work.
  func waitWithoutThread<T: Sendable>(
    owner: Session?, _ start: @escaping @Sendable (FairTurn, CheckedContinuation<T, any Error>) -> Void
  ) async throws -> T {
    let task = WaitingTask()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<T, any Error>) in
        let waiter = Waiter(owner: owner) { outcome in
          switch outcome {
          case .turn: start(FairTurn(self), continuation)
          case .dismissed(let error): continuation.resume(throwing: error)
          case .cancelled, .late: continuation.resume(throwing: CancellationError())
          }
        }
        guard let number = add(waiter) else { return start(FairTurn(self), continuation) }
        task.number.withLock { $0 = number }
        requireRunning(owner, number)
        // The task may have been canceled before it had a number.
        if Task.isCancelled { end(number, with: .cancelled) }
      }
    } onCancel: {
      if let number = task.number.withLock({ $0 }) { end(number, with: .cancelled) }
    }
  }

  /// Takes a turn immediately, even if all turns are taken. Nested work takes its turn in this way, because both could
  /// otherwise wait for each other.
  package func takeTurn() {
    state.withLock { $0.free -= 1 }
  }

  /// Passes a turn to the first waiter.
  package func signal() {
    let waiter = state.withLock { state -> Waiter? in
      state.free += 1
      guard state.free > 0, let waiter = state.removeFirst() else { return nil }
      state.free -= 1
      return waiter
    }
    waiter?.wake(.turn)
  }

  /// Ends the waits of a store that was closed or suspended.
  func dismiss(_ owner: Session, with error: StoreError) {
    let dismissed = state.withLock { state in
      let dismissed = state.waiters.filter { $0.value.owner === owner }
      for number in dismissed.keys { state.waiters[number] = nil }
      return dismissed.values
    }
    for waiter in dismissed { waiter.wake(.dismissed(error)) }
  }

  /// Ends a wait of a store that was closed or suspended just before, because ``dismiss(_:with:)`` may have missed it.
  private func requireRunning(_ owner: Session?, _ number: UInt64) {
    do throws(StoreError) {
      try owner?.requireRunning()
    } catch {
      end(number, with: .dismissed(error))
    }
  }

  /// Adds a waiter and returns its number, or returns `nil` after taking a free turn.
  private func add(_ waiter: Waiter) -> UInt64? {
    state.withLock { state in
      if state.free > 0 {
        state.free -= 1
        return nil
      }
      state.waiters[state.next] = waiter
      state.next += 1
      return state.next - 1
    }
  }

  /// Ends a wait, unless it has already ended.
  private func end(_ number: UInt64, with outcome: Outcome) {
    state.withLock { $0.waiters.removeValue(forKey: number) }?.wake(outcome)
  }

  private final class WaitingThread: Sendable {
    let semaphore = DispatchSemaphore(value: 0)
    let outcome = Mutex<Outcome?>(nil)

    func end(with outcome: Outcome) {
      self.outcome.withLock { $0 = outcome }
      semaphore.signal()
    }
  }

  private final class WaitingTask: Sendable {
    let number = Mutex<UInt64?>(nil)
  }
}

/// A turn of a semaphore, which ends with ``end()`` or with its last reference.
package final class FairTurn: Sendable {
  private let semaphore: FairSemaphore
  private let isOver = Atomic<Bool>(false)

  /// - Parameter semaphore: The semaphore that gave the turn.
  fileprivate init(_ semaphore: FairSemaphore) {
    self.semaphore = semaphore
  }

  /// Gives the turn to the caller, who must signal the semaphore. Returns `false` if the turn is over.
  func take() -> Bool { !isOver.exchange(true, ordering: .acquiringAndReleasing) }

  package func end() {
    if take() { semaphore.signal() }
  }

  deinit { end() }
}

extension Duration {
  fileprivate var nanoseconds: Int {
    guard self > .zero else { return 0 }
    let (seconds, attoseconds) = components
    // Limit the time to 34 years to prevent overflow.
    return Int(min(seconds, 1 << 30)) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
  }
}
