internal import Glibc
internal import Synchronization

/// Ctrl-Z at a question: restores the terminal's echo before the stop, and notices the continuation.
///
/// SIGSTOP, which no process can handle, is noticed by its continuation alone.
struct Suspension {
  private static let wasContinued = Atomic<Bool>(false)

  private let formerStop: sigaction
  private let formerContinuation: sigaction

  init() {
    formerStop = Self.handle(SIGTSTP, by: { _ in Suspension.stop() })
    formerContinuation = Self.handle(SIGCONT, by: { _ in Suspension.wasContinued.store(true, ordering: .relaxed) })
  }

  func end() {
    var (stop, continuation) = (formerStop, formerContinuation)
    sigaction(SIGTSTP, &stop, nil)
    sigaction(SIGCONT, &continuation, nil)
  }

  /// Forgets an earlier continuation, and handles the next stop.
  static func begin() {
    wasContinued.store(false, ordering: .relaxed)
    handle(SIGTSTP, by: { _ in Suspension.stop() })
  }

  /// Whether this process was stopped and continued since ``begin()``.
  static var hasEnded: Bool { wasContinued.load(ordering: .relaxed) }

  /// Runs inside the signal handler. The signal, raised again, stops the process when the handler returns; the kernel
  /// drops it where no shell could continue the process, and then the question is asked again at once.
  private static func stop() {
    Echo.restoreInSignalHandler()
    FullScreen.restoreInSignalHandler()
    signal(SIGTSTP, SIG_DFL)
    raise(SIGTSTP)
    wasContinued.store(true, ordering: .relaxed)
  }

  /// Sets the handler of a signal.
  ///
  /// - Returns: the former action; one that ignores the signal stays.
  @discardableResult
  static func handle(_ number: Int32, by handler: @escaping @convention(c) (Int32) -> Void) -> sigaction {
    var former = sigaction()
    sigaction(number, nil, &former)
    var action = sigaction()
    action.__sigaction_handler.sa_handler = handler
    if !Interrupt.isIgnored(former) { sigaction(number, &action, nil) }
    return former
  }
}
