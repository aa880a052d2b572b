internal import CofferPlatform
internal import Synchronization

/// Handles Ctrl-Z during a question by restoring the terminal before the process stops, and detects when it continues.
///
/// A process can't handle SIGSTOP, so only the continuation after it is detected.
package struct Suspension {
  private static let wasContinued = Atomic<Bool>(false)

  private let stop: SignalHandler
  private let continuation: SignalHandler

  package init() {
    stop = SignalHandler(SIGTSTP) { _ in Suspension.stop() }
    continuation = SignalHandler(SIGCONT) { _ in Suspension.wasContinued.store(true, ordering: .relaxed) }
  }

  /// Restores the earlier actions of both signals.
  package func end() {
    stop.restore()
    continuation.restore()
  }

  /// Clears an earlier continuation, and handles the next stop.
  static func begin() {
    wasContinued.store(false, ordering: .relaxed)
    SignalHandler(SIGTSTP) { _ in Suspension.stop() }
  }

  /// A Boolean value that indicates whether the process was stopped and continued since ``begin()``.
  package static var hasEnded: Bool { wasContinued.load(ordering: .relaxed) }

  /// Restores the terminal and raises the signal again. Runs inside the signal handler.
  ///
  /// The raised signal stops the process when the handler returns. If the process can't be continued by a shell, the
  /// kernel drops the signal, and the question is repeated immediately.
  private static func stop() {
    Terminal.restoreInSignalHandler()
    signal(SIGTSTP, SIG_DFL)
    raise(SIGTSTP)
    wasContinued.store(true, ordering: .relaxed)
  }
}
