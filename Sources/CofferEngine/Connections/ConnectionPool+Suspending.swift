internal import CofferPlatform
internal import CofferRecords
internal import CofferSQLite
internal import Dispatch
internal import Synchronization

extension ConnectionPool {
  /// Rejects new work, interrupts all transactions, waits for them, and closes all connections. Keeps the keys.
  ///
  /// The log isn't copied into the file, because that can take long.
  ///
  /// - Throws: `locked` if a transaction or call hasn't ended in time. Its connections close when it ends. `closed`,
  ///   or `misuse` inside this thread's `read` or `write`, which would wait for itself, and in a forked child.
  package func suspend(within limit: Duration) throws(StoreError) {
    try requireOwnProcess()
    let thread = currentThread()
    let end = ContinuousClock.now + limit
    let result: Result<Void, StoreError> = pausing.withLock { _ in
      Result { () throws(StoreError) in
        try idle.withLock { idle throws(StoreError) in
          guard !session.isClosing else { throw StoreError.storeClosed }
          guard writingThread.load(ordering: .acquiring) != thread, !idle.reading.contains(thread) else {
            throw StoreError(
              .misuse, "a store can't be suspended inside its own read or write", hint: "suspend it after the scope")
          }
          session.setSuspended(true)
        }
        locks.writers.dismiss(session, with: .storeSuspended)
        locks.writingCalls.dismiss(session, with: .storeSuspended)
        locks.indexReaders.dismiss(session, with: .storeSuspended)
        readerTurns.dismiss(session, with: .storeSuspended)
        closeIdleReaders()
        guard stopWork(before: end) else { throw Self.stillBusy }
        // This thread is the writer now, so nobody uses a connection.
        defer { writing.signal() }
        writingConnection = nil
        closeIdleReaders()
        session.releaseMemory()
        share.withLock { $0 = nil }
      }
    }
    try result.get()
  }

  /// Lets a suspended store take work again. The next transaction opens the file.
  package func resume() {
    pausing.withLock { _ in session.setSuspended(false) }
  }

  /// Interrupts all transactions until they have ended, and takes the turn of this store's writer.
  ///
  /// - Returns: `false` if a transaction or call hasn't ended in time.
  private func stopWork(before end: ContinuousClock.Instant) -> Bool {
    var pause: UInt32 = 100
    while true {
      let (isReading, calls, handles) = idle.withLock { idle in
        (
          !idle.reading.isEmpty, Array(idle.calls.values),
          Array(idle.interrupts.values) + [idle.writer].compactMap { $0 }
        )
      }
      // An interrupt between two statements has no effect, so it's repeated.
      for handle in handles { handle.stop() }
      for call in calls { call.cancel() }
      if writing.wait(timeout: .now()) == .success {
        if !isReading, calls.isEmpty { return true }
        writingConnection = nil
        writing.signal()
      }
      guard ContinuousClock.now < end else { return false }
      usleep(pause)
      pause = min(2 * pause, 5000)
    }
  }

  private static var stillBusy: StoreError {
    StoreError(
      .locked, "the store is suspended, but a read, write or other call on another thread hasn't ended in time",
      hint: "let the closures of read and write return after an error, and call suspend(within:) again")
  }

  // MARK: Calls with files of their own

  /// Runs a call that keeps files open outside its transactions, such as a copy of the store. Suspending the store ends
  /// the call at its next cancellation check, and waits for it.
  ///
  /// - Throws: Errors of the call, `closed`, or `suspended`.
  package func during<R>(_ call: () throws(StoreError) -> R) throws(StoreError) -> R {
    let (cancellation, mark) = try beginCall()
    defer { endCall(cancellation) }
    let result: Result<R, StoreError> = cancellation.run { Result(catching: call) }
    do throws(StoreError) {
      return try result.get()
    } catch {
      throw session.errorOfStopped(error, since: mark)
    }
  }

  /// Runs a call whose closures may throw any error.
  package func during<R>(_ call: () throws -> R) throws -> R {
    let (cancellation, mark) = try beginCall()
    defer { endCall(cancellation) }
    do {
      return try cancellation.run(call)
    } catch let error as StoreError {
      throw session.errorOfStopped(error, since: mark)
    }
  }

  private func beginCall() throws(StoreError) -> (Cancellation, mark: UInt64) {
    let cancellation = Cancellation(within: .current)
    let mark = session.pauseMark
    try idle.withLock { idle throws(StoreError) in
      try session.requireRunning()
      idle.calls[ObjectIdentifier(cancellation)] = cancellation
    }
    return (cancellation, mark)
  }

  private func endCall(_ cancellation: Cancellation) {
    idle.withLock { $0.calls[ObjectIdentifier(cancellation)] = nil }
  }
}
