internal import Glibc
internal import Synchronization

/// SIGINT and SIGTERM: where work can stop at a batch, a flag; everywhere else, the end at once with exit code 130.
///
/// Ending at once is safe: SQLite undoes what was not committed when the store is opened next.
enum Interrupt {
  private static let wasRequested = Atomic<Bool>(false)
  /// The work under way looks at the flag between its steps.
  private static let mayDefer = Atomic<Bool>(false)
  /// It has looked, so it is past waiting for keys and for the first lock, and will look again.
  private static let isDeferred = Atomic<Bool>(false)

  /// A second signal ends the program at once.
  private static let endsOnSecond = Atomic<Bool>(true)

  static func install() {
    _ = Terminal.standardErrorIsTerminal
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
  ///
  /// - Parameter untilTheEnd: however many signals come, because something must be wiped.
  static func deferring<R>(untilTheEnd: Bool = false, _ work: () throws -> R) rethrows -> R {
    // Such work may be a part of other such work.
    let before = (
      endsOnSecond: endsOnSecond.load(ordering: .relaxed), mayDefer: mayDefer.load(ordering: .relaxed),
      isDeferred: isDeferred.load(ordering: .relaxed)
    )
    endsOnSecond.store(!untilTheEnd, ordering: .relaxed)
    mayDefer.store(true, ordering: .relaxed)
    defer {
      endsOnSecond.store(before.endsOnSecond, ordering: .relaxed)
      mayDefer.store(before.mayDefer, ordering: .relaxed)
      isDeferred.store(before.isDeferred, ordering: .relaxed)
    }
    return try work()
  }

  static var isRequested: Bool { wasRequested.load(ordering: .relaxed) }

  /// Throws where a signal has come; the error rolls back what is open.
  static func check() throws {
    if mayDefer.load(ordering: .relaxed) {
      isDeferred.store(true, ordering: .relaxed)
    }
    if isRequested {
      throw Failure.interrupted
    }
  }

  /// Waits until a descriptor has something to read, or a signal has come.
  static func waitForInput(_ descriptor: Int32) {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    // The signal may reach another thread, or arrive just before the wait: look again from time to time.
    while !isRequested {
      let ready = poll(&wanted, 1, 200)
      if ready > 0 || ready < 0 && errno != EINTR { return }
    }
  }

  /// Runs inside the signal handler: atomics, `write`, `tcsetattr` and `_exit` are all it may use.
  private static func arrived() {
    let isSecond = wasRequested.exchange(true, ordering: .relaxed)
    if isSecond && endsOnSecond.load(ordering: .relaxed) || !isDeferred.load(ordering: .relaxed) {
      Echo.restoreInSignalHandler()
      _exit(ExitStatus.interrupted.rawValue)
    }
    if Terminal.standardErrorIsTerminal, endsOnSecond.load(ordering: .relaxed) {
      let note: StaticString = "\ndbtool: stopping at the next batch; once more stops at once\n"
      _ = write(STDERR_FILENO, note.utf8Start, note.utf8CodeUnitCount)
    }
  }

  private static func isIgnored(_ action: sigaction) -> Bool {
    unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
