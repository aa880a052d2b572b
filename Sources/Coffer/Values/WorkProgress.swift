internal import CofferRecords

/// The progress of long work.
public struct WorkProgress: Sendable, Hashable {
  /// The part of the work that goes on.
  public enum Phase: Sendable, Hashable {
    /// Nothing is written yet.
    case beginning
    /// Documents or pages are being handled.
    case working
    /// Everything was handled; the end of the work is checked or written.
    case finishing
    /// Another process is in the way; reported repeatedly.
    case waiting
  }

  /// Documents handled so far; pages in a backup or restore.
  public let done: Int
  /// nil if it is unknown, as for a source that is read to its end.
  public let total: Int?
  /// The part of the work that goes on.
  public let phase: Phase

  /// A report of progress, such as for a test of a handler.
  public init(done: Int, total: Int? = nil, phase: Phase = .working) {
    self.done = done
    self.total = total
    self.phase = phase
  }

  /// From 0 to 1; nil if the total is unknown.
  public var fraction: Double? {
    total.map { $0 <= 0 ? 1 : min(1, max(0, Double(done) / Double($0))) }
  }
}

/// Hears of the progress of long work, on the thread that does it.
///
/// If it throws, the work ends: its call throws that error, or a `cancelled` in its place where it throws nothing but
/// ``StoreError``. Each call says what is left then. Async forms end in the same way when their task is cancelled, with
/// `CancellationError`.
public typealias ProgressHandler = (WorkProgress) throws -> Void

extension WorkProgress {
  /// Reports to a handler in work that throws only store errors.
  ///
  /// - Parameter stopped: the message if the handler throws another error.
  /// - Throws: `cancelled`, and store errors of the handler.
  func tell(_ handler: ProgressHandler?, stopped: String, hint: ErrorHint? = nil) throws(StoreError) {
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
