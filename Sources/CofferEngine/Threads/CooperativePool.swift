internal import CofferRecords
internal import Dispatch

/// Runs blocking work on a separate thread, so it doesn't block other tasks.
///
/// - Throws: Errors of the work, or `CancellationError`. Canceled work ends when it next checks
///   ``Cancellation/current``.
///
/// - Parameters:
///   - threads: The semaphore that limits the number of threads. Its turn is awaited without a thread.
///   - owner: The store that ends the wait for this turn when it's closed or suspended.
package func offCooperativePool<T: Sendable>(
  _ threads: FairSemaphore? = nil, owner: Session? = nil, _ work: @escaping @Sendable () throws -> T
) async throws -> T {
  if let threads { return try await offCooperativePool(withTurnOf: threads, owner: owner) { _ in try work() } }
  return try await cancelling { cancellation in
    try await withCheckedThrowingContinuation { continuation in
      onSeparateThread(.default) { continuation.resume(with: Result { try cancellation.run(work) }) }
    }
  }
}

/// Runs blocking work on a separate thread, which gets a turn of a semaphore. The turn is awaited without a thread.
func offCooperativePool<T: Sendable>(
  withTurnOf semaphore: FairSemaphore, owner: Session?, _ work: @escaping @Sendable (FairTurn) throws -> T
) async throws -> T {
  try await cancelling { cancellation in
    try await semaphore.waitWithoutThread(owner: owner) { turn, continuation in
      onSeparateThread(.default) {
        continuation.resume(
          with: Result {
            defer { turn.end() }
            try cancellation.check()
            return try cancellation.run { try work(turn) }
          })
      }
    }
  }
}

/// Passes the cancellation of the task on to work on other threads.
private func cancelling<T: Sendable>(_ work: (Cancellation) async throws -> T) async throws -> T {
  try Task.checkCancellation()
  let cancellation = Cancellation()
  do {
    return try await withTaskCancellationHandler {
      try await work(cancellation)
    } onCancel: {
      cancellation.cancel()
    }
  } catch let error as StoreError where error.code == .cancelled && cancellation.isCancelled {
    throw CancellationError()
  }
}

extension FairSemaphore {
  /// The threads of this process for calls that tasks wait for, apart from the scopes of `read` and `write`, and from
  /// calls that are known to write (``StoreEngine/writingCalls``).
  package static let calls = FairSemaphore(count: 64)
  /// The threads of this process that open stores, each of which can need a lot of memory.
  package static let openings = FairSemaphore(count: 16)
  /// The threads of this process that read for observations.
  package static let observations = FairSemaphore(count: 16)
}

/// Starts work on a thread outside the pool that tasks share.
///
/// A serial queue gets a thread immediately. A global queue shares its threads with all of the process's tasks. It
/// doesn't get more threads than processors while they compute, so blocking work would delay the tasks.
func onSeparateThread(_ quality: DispatchQoS, _ work: @escaping @Sendable () -> Void) {
  DispatchQueue(label: "coffer.work", qos: quality).async(execute: work)
}
