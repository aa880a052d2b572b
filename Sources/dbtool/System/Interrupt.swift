internal import Glibc
internal import Synchronization

/// SIGINT and SIGTERM: where work can stop at a batch, a flag; everywhere else, the end at once with exit code 130.
///
/// Ending at once is safe: SQLite undoes what was not committed when the store is opened next.
enum Interrupt {
  private static let wasRequested = Atomic<Bool>(false)
  private static let isDeferred = Atomic<Bool>(false)

  static func install() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in Interrupt.arrived() }
    for number in [SIGINT, SIGTERM, SIGHUP] {
      // A shell starts background jobs with SIGINT ignored, and nohup does so with SIGHUP: that choice stays.
      var former = sigaction()
      if sigaction(number, nil, &former) == 0, isIgnored(former) { continue }
      sigaction(number, &action, nil)
    }
  }

  /// Runs work that calls ``check()`` between its steps; a second signal no longer waits for the next step.
  static func deferring<R>(_ work: () throws -> R) rethrows -> R {
    isDeferred.store(true, ordering: .relaxed)
    defer { isDeferred.store(false, ordering: .relaxed) }
    return try work()
  }

  /// Throws where a signal has come; the error rolls back what is open.
  static func check() throws {
    if wasRequested.load(ordering: .relaxed) {
      throw Failure.interrupted
    }
  }

  /// Runs inside the signal handler: atomics, `tcsetattr` and `_exit` are all it may use.
  private static func arrived() {
    let isSecond = wasRequested.exchange(true, ordering: .relaxed)
    if isSecond || !isDeferred.load(ordering: .relaxed) {
      Echo.restoreInSignalHandler()
      _exit(ExitStatus.interrupted.rawValue)
    }
  }

  private static func isIgnored(_ action: sigaction) -> Bool {
    unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
