internal import CofferRecords
internal import Dispatch

/// Runs blocking work on a separate thread, so that it blocks no other task.
///
/// - Throws: errors of the work; `CancellationError` if the task is cancelled before the work is done. The work ends at
///   its next look at ``Cancellation/current``.
func offCooperativePool<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
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

/// Starts work on a thread beyond those that tasks share.
///
/// A serial queue gets a thread as soon as it has work. A global queue does not: it shares its threads with all tasks
/// of the process, gets no more than there are processors while those compute, and would keep the tasks waiting.
func onSeparateThread(_ quality: DispatchQoS, _ work: @escaping @Sendable () -> Void) {
  DispatchQueue(label: "coffer.work", qos: quality).async(execute: work)
}
