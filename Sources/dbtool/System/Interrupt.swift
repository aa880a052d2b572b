internal import Coffer
internal import CofferEngine
internal import CofferPlatform
internal import CofferTerminal
internal import Synchronization

/// SIGINT, SIGTERM and SIGHUP set a flag for work that stops between batches, or otherwise exit with code 130.
///
/// An immediate exit is safe, because SQLite rolls back an uncommitted transaction when the store is next opened. After
/// a commit it's too late, because the exit code would say that nothing is stored. The verb then prints its report.
enum Interrupt {
  private static let wasRequested = Atomic<Bool>(false)
  /// Whether the current work checks the flag between its steps.
  private static let mayDefer = Atomic<Bool>(false)
  /// Whether the work has checked once. It then no longer waits for keys and the first lock, and will keep checking.
  private static let isDeferred = Atomic<Bool>(false)

  /// Whether a second signal ends the program immediately.
  private static let endsOnSecond = Atomic<Bool>(true)

  /// Whether a step is storing the change, so a signal must not exit immediately.
  private static let isStoring = Atomic<Bool>(false)
  /// Whether the verb has stored a change. In a ``deferring(untilTheEnd:inSteps:_:)`` scope, whether the scope has.
  private static let isStored = Atomic<Bool>(false)
  /// Whether the work stores its changes in several steps, so a signal can stop it between two steps.
  private static let worksInSteps = Atomic<Bool>(false)

  // Use plain memory, because a signal handler can't read more. It's set before the work begins.
  nonisolated(unsafe) private static var note: StaticString?
  /// Whether the final error is printed as JSON, once, either by an immediate exit or by ``ErrorReport``.
  static var printsJSON: Bool {
    get { owesJSON.load(ordering: .relaxed) }
    set { owesJSON.store(newValue, ordering: .relaxed) }
  }

  private static let owesJSON = Atomic<Bool>(false)
  /// Whether an immediate exit still prints its error.
  private static let owesError = Atomic<Bool>(true)

  /// Leaves the final error to ``ErrorReport``.
  static func willPrintError() {
    owesError.store(false, ordering: .relaxed)
    printsJSON = false
  }

  /// Runs a verb. A step that stores the verb's change is canceled before it begins, or not at all.
  static func sparingCommits<R>(_ verb: () throws -> R) rethrows -> R {
    do {
      // A text from an editor is stored even after a signal.
      return try Cancellation.polling(
        { isStoring.load(ordering: .sequentiallyConsistent) && isRequested && endsOnSecond.load(ordering: .relaxed) },
        onStoring: { step in
          if step == .done { isStored.store(true, ordering: .sequentiallyConsistent) }
          isStoring.store(step == .begins, ordering: .sequentiallyConsistent)
        }, verb)
    } catch let error as StoreError where error.code == .cancelled && isRequested {
      throw Failure.interrupted
    }
  }

  /// Whether the verb has stored a change, so it must not be repeated.
  static var hasStored: Bool { isStored.load(ordering: .relaxed) }

  /// Runs work that a signal ends immediately, even between its commits. The signal then prints `note`, which explains
  /// how to continue.
  static func explaining<R>(_ note: StaticString, _ work: () throws -> R) rethrows -> R {
    self.note = note
    worksInSteps.store(true, ordering: .relaxed)
    defer {
      self.note = nil
      worksInSteps.store(false, ordering: .relaxed)
    }
    return try work()
  }

  static func install() {
    _ = Terminal.standardErrorIsTerminal
    for number in [SIGINT, SIGTERM, SIGHUP] {
      SignalHandler(number) { _ in Interrupt.arrived() }
    }
  }

  /// Runs work that calls ``check()`` between its steps. A second signal doesn't wait for the next step. After a check, a
  /// signal also ends long SQLite statements.
  ///
  /// - Parameters:
  ///   - untilTheEnd: Whether to defer any number of signals, because data must be wiped.
  ///   - inSteps: Whether the work has several commits, so a signal can also stop it after a commit.
  static func deferring<R>(
    untilTheEnd: Bool = false, inSteps: Bool = false, _ work: () throws -> R
  ) rethrows -> R {
    // Save the flags, because deferred work can be nested.
    let before = (
      endsOnSecond: endsOnSecond.load(ordering: .relaxed), mayDefer: mayDefer.load(ordering: .relaxed),
      isDeferred: isDeferred.load(ordering: .relaxed), isStored: isStored.load(ordering: .relaxed),
      worksInSteps: worksInSteps.load(ordering: .relaxed)
    )
    endsOnSecond.store(!untilTheEnd, ordering: .relaxed)
    mayDefer.store(true, ordering: .relaxed)
    worksInSteps.store(inSteps, ordering: .relaxed)
    isStored.store(false, ordering: .relaxed)
    defer {
      if before.isStored { isStored.store(true, ordering: .relaxed) }
      worksInSteps.store(before.worksInSteps, ordering: .relaxed)
      endsOnSecond.store(before.endsOnSecond, ordering: .relaxed)
      mayDefer.store(before.mayDefer, ordering: .relaxed)
      isDeferred.store(before.isDeferred, ordering: .relaxed)
    }
    guard !untilTheEnd else { return try work() }
    do {
      return try Cancellation.polling({ isRequested }, work)
    } catch let error as StoreError where error.code == .cancelled && isRequested {
      let interrupted = Failure.interrupted
      throw Failure(
        interrupted.status, kind: interrupted.kind, interrupted.message, hint: error.advice?.text(naming: \.verb))
    }
  }

  /// Whether a signal has asked to stop, and isn't too late.
  static var isRequested: Bool { wasRequested.load(ordering: .sequentiallyConsistent) && !isTooLate }

  private static var isTooLate: Bool {
    isStored.load(ordering: .sequentiallyConsistent) && !worksInSteps.load(ordering: .relaxed)
  }

  /// Throws an error after a signal. The error rolls back open transactions.
  static func check() throws {
    if mayDefer.load(ordering: .relaxed) {
      isDeferred.store(true, ordering: .relaxed)
    }
    if isRequested {
      throw Failure.interrupted
    }
  }

  /// Waits for a time since a start, or until a signal arrives.
  static func wait(_ interval: Duration, since start: ContinuousClock.Instant = .now) throws {
    while ContinuousClock.now - start < interval {
      try check()
      let rest = (interval - (ContinuousClock.now - start)).components
      let microseconds = rest.seconds * 1_000_000 + rest.attoseconds / 1_000_000_000_000
      usleep(UInt32(clamping: min(100_000, max(1, microseconds))))
    }
  }

  /// Waits until a descriptor has input, or a signal arrives.
  static func waitForInput(_ descriptor: Int32) {
    // Poll the flag, because another thread can receive the signal, or it can arrive just before the wait.
    while !isRequested {
      let ready = coffer_wait_until_readable(descriptor, 200)
      if ready > 0 || ready < 0 && errno != EINTR { return }
    }
  }

  /// Handles a signal. Uses only atomics, `write`, `tcsetattr` and `_exit`, because it runs in the signal handler.
  private static func arrived() {
    // These flags have one order in all threads: the exit precedes the commit, or the commit is checked afterward.
    let isSecond = wasRequested.exchange(true, ordering: .sequentiallyConsistent)
    let isStoring = isStoring.load(ordering: .sequentiallyConsistent)
    let mustWait = isDeferred.load(ordering: .relaxed) || isStoring || isTooLate
    if isSecond && endsOnSecond.load(ordering: .relaxed) || !mustWait {
      Terminal.restoreInSignalHandler()
      // Print the same lines as `Failure.interrupted`.
      if owesError.exchange(false, ordering: .relaxed) {
        if Terminal.standardErrorIsTerminal { print("\n") }
        if note == nil { print("dbtool: error: interrupted\n") }
        if isStoring || isTooLate { print("hint: the change may be stored: look before you repeat the command\n") }
      }
      if let note { print(note) }
      if owesJSON.exchange(false, ordering: .relaxed) {
        print("{\"error\":{\"code\":130,\"kind\":\"interrupted\",\"message\":\"interrupted\"}}\n")
      }
      _exit(ExitStatus.interrupted.rawValue)
    }
    if Terminal.standardErrorIsTerminal, endsOnSecond.load(ordering: .relaxed), !isStoring, !isTooLate {
      print("\ndbtool: stopping at the next batch; once more stops at once\n")
    }
  }

  private static func print(_ text: StaticString) {
    _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
  }
}
