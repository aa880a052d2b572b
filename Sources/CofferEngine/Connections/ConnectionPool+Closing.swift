internal import CofferRecords
internal import CofferSQLite
internal import Dispatch
internal import Synchronization

extension ConnectionPool {
  /// Stops readers and writers that wait for a lock, waits for readers and a running write, and closes all connections.
  ///
  /// - Throws: `misuse` inside this thread's `read` or `write`, which would wait for itself, and in a forked child,
  ///   where the parent's connections remain unchanged.
  package func close() throws(StoreError) {
    try requireOwnProcess()
    let thread = currentThread()
    let interrupts = try idle.withLock { idle throws(StoreError) in
      guard writingThread.load(ordering: .acquiring) != thread, !idle.reading.contains(thread) else {
        throw StoreError(.misuse, "a store can't be closed inside its own read or write")
      }
      session.beginClosing()
      return Array(idle.interrupts.values) + [idle.waitingWriter].compactMap { $0 }
    }
    for handle in interrupts { handle.stopWaiting() }
    locks.writers.dismiss(session, with: .storeClosed)
    locks.writingCalls.dismiss(session, with: .storeClosed)
    locks.indexReaders.dismiss(session, with: .storeClosed)
    readerTurns.dismiss(session, with: .storeClosed)
    session.feed.finish()
    session.texts?.close()
    // A second call waits until the first call has closed all connections.
    let result: Result<Void, StoreError> = closing.withLock { _ in
      waitForReaders()
      let result: Result<Void, StoreError> = Result { () throws(StoreError) in try closeConnections() }
      share.withLock { $0 = nil }
      folder?.remove()
      return result
    }
    try result.get()
  }

  /// Waits until all threads have left `read`. Readers then don't return data or use memory.
  private func waitForReaders() {
    let end = DispatchSemaphore(value: 0)
    let isBusy = idle.withLock { idle in
      guard !idle.reading.isEmpty else { return false }
      idle.closer = end
      return true
    }
    if isBusy { end.wait() }
  }

  private func closeConnections() throws(StoreError) {
    // The readers leave the lock with this thread as their single owner.
    nonisolated(unsafe) let readers = idle.withLock { idle in
      nonisolated(unsafe) let readers = idle.readers
      idle.readers = []
      return readers
    }
    writing.wait()
    defer { writing.signal() }
    let open = readers + [writingConnection].compactMap { $0 }
    let hasWriter = writingConnection != nil
    // Release the keys even if the files fail to close.
    session.releaseKeys()
    session.closeCompanions()
    writingConnection = nil
    // The last connection to close copies the log into the file and removes the log, under our lock. If another
    // process is still reading or writing, the next connection to close does that.
    // This thread already holds the lock inside the write of another open store of this file.
    let isInsideWrite = locks.writer.load(ordering: .acquiring) == currentThread()
    var lockFailure: StoreError?
    var hasLock = false
    if !open.isEmpty, !isInsideWrite, let writeAheadLock {
      do throws(StoreError) {
        // A session that only read doesn't wait for a writer, which may be stopped.
        try writeAheadLock.lock(wait: hasWriter ? wait : .zero)
        hasLock = true
      } catch {
        // Nor does it need the lock, which can't be had in a file that may only be read.
        if hasWriter, error.code != .locked { lockFailure = error }
      }
    }
    defer { if hasLock { writeAheadLock?.unlock() } }
    for connection in open { try close(connection, mayCheckpoint: hasLock) }
    if let lockFailure { throw lockFailure }
  }

  private func close(_ connection: StoreConnection, mayCheckpoint: Bool) throws(StoreError) {
    let database = connection.database.connection
    try translatingErrors { () throws(SQLiteError) in
      if writeAheadLock != nil, mayCheckpoint { try database.set(.noCheckpointOnClose, to: false) }
      database.busyTimeout = .zero
      try database.close()
    }
  }
}
