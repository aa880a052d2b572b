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
        DispatchQueue.global().async {
          continuation.resume(with: Result { try cancellation.run(work) })
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  } catch let error as StoreError where error.code == .cancelled && cancellation.isCancelled {
    throw CancellationError()
  }
}
