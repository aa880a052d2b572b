internal import CofferRecords
internal import Dispatch

/// Runs blocking work on a separate thread, so it doesn't block other tasks.
///
/// - Throws: Errors of the work, or `CancellationError`. Canceled work ends when it next checks
///   ``Cancellation/current``.
package func offCooperativePool<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
  try Task.checkCancellation()
  let cancellation = Cancellation()
  do {
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        onSeparateThread(.default) { continuation.resume(with: Result { try cancellation.run(work) }) }
      }
    } onCancel: {
      cancellation.cancel()
    }
  } catch let error as StoreError where error.code == .cancelled && cancellation.isCancelled {
    throw CancellationError()
  }
}

/// Starts work on a thread outside the pool that tasks share.
///
/// A serial queue gets a thread immediately. A global queue shares its threads with all of the process's tasks. It
/// doesn't get more threads than processors while they compute, so blocking work would delay the tasks.
func onSeparateThread(_ quality: DispatchQoS, _ work: @escaping @Sendable () -> Void) {
  DispatchQueue(label: "coffer.work", qos: quality).async(execute: work)
}
