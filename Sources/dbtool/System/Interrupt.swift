internal import Coffer
internal import CofferEngine
internal import CofferPlatform
internal import CofferTerminal
internal import Synchronization

/// SIGINT, SIGTERM and SIGHUP set a flag for work that stops between batches, or otherwise exit with code 130.
///
/// An immediate exit is safe, because SQLite rolls back an uncommitted transaction when the store is next opened.
enum Interrupt {
  private static let wasRequested = Atomic<Bool>(false)
  /// Whether the current work checks the flag between its steps.
  private static let mayDefer = Atomic<Bool>(false)
  /// Whether the work has checked once. It then no longer waits for keys and the first lock, and will keep checking.
  private static let isDeferred = Atomic<Bool>(false)

  /// Whether a second signal ends the program immediately.
  private static let endsOnSecond = Atomic<Bool>(true)

  // Use plain memory, because a signal handler can't read more. It's set before the work begins.
  nonisolated(unsafe) private static var note: StaticString?
  /// Whether the final error is printed as JSON, once, either by an immediate exit or by ``ErrorReport``.
  static var printsJSON: Bool {
    get { owesJSON.load(ordering: .relaxed) }
    set { owesJSON.store(newValue, ordering: .relaxed) }
  }

  private static let owesJSON = Atomic<Bool>(false)

  /// Runs work that a signal ends immediately. The signal then prints `note`, which explains how to continue.
  static func explaining<R>(_ note: StaticString, _ work: () throws -> R) rethrows -> R {
    self.note = note
    defer { self.note = nil }
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
  /// - Parameter untilTheEnd: Whether to defer any number of signals, because data must be wiped.
  static func deferring<R>(untilTheEnd: Bool = false, _ work: () throws -> R) rethrows -> R {
    // Save the flags, because deferred work can be nested.
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
    guard !untilTheEnd else { return try work() }
    do {
      return try Cancellation.polling({ isRequested }, work)
    } catch let error as StoreError where error.code == .cancelled && isRequested {
      let interrupted = Failure.interrupted
      throw Failure(
        interrupted.status, kind: interrupted.kind, interrupted.message, hint: error.advice?.text(naming: \.verb))
    }
  }

  static var isRequested: Bool { wasRequested.load(ordering: .relaxed) }

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
    let isSecond = wasRequested.exchange(true, ordering: .relaxed)
    if isSecond && endsOnSecond.load(ordering: .relaxed) || !isDeferred.load(ordering: .relaxed) {
      Terminal.restoreInSignalHandler()
      if let note { print(note) }
      // Print the same line as `Failure.interrupted`.
      if owesJSON.exchange(false, ordering: .relaxed) {
        print("{\"error\":{\"code\":130,\"kind\":\"interrupted\",\"message\":\"interrupted\"}}\n")
      }
      _exit(ExitStatus.interrupted.rawValue)
    }
    if Terminal.standardErrorIsTerminal, endsOnSecond.load(ordering: .relaxed) {
      print("\ndbtool: stopping at the next batch; once more stops at once\n")
    }
  }

  private static func print(_ text: StaticString) {
    _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
  }
}
