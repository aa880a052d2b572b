internal import CofferRecords

/// The progress of a long operation.
public struct WorkProgress: Sendable, Hashable {
  /// A phase of the work.
  public enum Phase: Sendable, Hashable {
    /// The work has started but hasn't written yet.
    case beginning
    /// Documents or pages are being processed.
    case working
    /// The results are being checked or written.
    case finishing
    /// The work is waiting for another process. Reported repeatedly.
    case waiting
  }

  /// The number of processed documents, pages in a backup or restore, or bytes of an attachment.
  public let done: Int
  /// The total number, or `nil` if it's unknown because the source is read to the end.
  public let total: Int?
  /// The current phase.
  public let phase: Phase

  /// Creates a progress report, for example to test a handler.
  public init(done: Int, total: Int? = nil, phase: Phase = .working) {
    self.done = done
    self.total = total
    self.phase = phase
  }

  /// The completed fraction from 0 to 1, or `nil` if the total is unknown.
  public var fraction: Double? {
    total.map { $0 <= 0 ? 1 : min(1, max(0, Double(done) / Double($0))) }
  }
}

/// A closure that receives the progress of a long operation, on the operation's thread.
///
/// Throwing from it ends the operation, which rethrows the error. If the operation can only throw ``StoreError``, it
/// replaces other errors with `cancelled`. Each operation documents the resulting state. Canceling the task of an
/// asynchronous operation has the same effect, but throws `CancellationError`.
public typealias ProgressHandler = (WorkProgress) throws -> Void

extension WorkProgress {
  /// Reports to a handler in work that can only throw store errors.
  ///
  /// - Parameter stopped: The message to use if the handler throws another error.
  /// - Throws: `cancelled`, or store errors of the handler.
  package func tell(_ handler: ProgressHandler?, stopped: String, hint: ErrorHint? = nil) throws(StoreError) {
    try Cancellation.checkCurrent()
    do {
      try handler?(self)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.cancelled, stopped, hint: hint)
    }
  }
}
