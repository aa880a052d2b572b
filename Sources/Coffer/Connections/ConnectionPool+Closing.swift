internal import CofferRecords
internal import CofferSQLite
internal import Dispatch
internal import Synchronization

extension ConnectionPool {
  /// Ends readers, waits for them and for a write that runs, and closes every connection.
  ///
  /// - Throws: `misuse` inside a `read` or `write` of this thread, which would wait for itself, and in the child of a fork,
  ///   where the connections stay as they are: they are the parent's.
  func close() throws(StoreError) {
    try requireOwnProcess()
    let thread = currentThread()
    let interrupts = try idle.withLock { idle throws(StoreError) in
      guard writer.load(ordering: .acquiring) != thread, idle.reading[thread] == nil else {
        throw StoreError(.misuse, "a store can't be closed inside its own read or write")
      }
      idle.isClosed = true
      return idle.interrupts.values
    }
    session.beginClosing()
    for handle in interrupts { handle.stopWaiting() }
    locks.writers.dismiss(ObjectIdentifier(self))
    session.feed.finish()
    session.texts?.close()
    // A second call returns when the first one has closed everything.
    let result: Result<Void, StoreError> = closing.withLock { _ in
      waitForReaders()
      let result: Result<Void, StoreError> = Result { () throws(StoreError) in try closeConnections() }
      if isCounted.exchange(false, ordering: .acquiringAndReleasing) {
        locks.openStores.subtract(1, ordering: .acquiringAndReleasing)
      }
      return result
    }
    try result.get()
  }

  /// Returns when no thread is inside `read`: nothing of the store is given out then, and no memory of a reader is left.
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
    let readers = idle.withLock { idle in
      defer { idle.readers = [] }
      return Sent(value: idle.readers)
    }
    let result: Result<Void, StoreError> = writing.withLock { writing in
      Result { () throws(StoreError) in
        let open = readers.value + [writing.connection].compactMap { $0 }
        // The last connection to close copies the log into the file and removes it, under our lock. If another process
        // still reads, the next one to close does that.
        // Even if the files fail to close, the keys are released.
        session.forgetKeys()
        writing.connection = nil
        // Inside the write of another open store of this file, this thread holds the lock already.
        let isInsideOfWrite = locks.writer.load(ordering: .acquiring) == currentThread()
        let lock: Result<Bool, StoreError> = Result { () throws(StoreError) in
          guard !open.isEmpty, !isInsideOfWrite, let writeAheadLock else { return false }
          try writeAheadLock.lock(wait: wait)
          return true
        }
        let hasLock = (try? lock.get()) ?? false
        defer { if hasLock { writeAheadLock?.unlock() } }
        for connection in open { try close(connection, mayCheckpoint: hasLock) }
        _ = try lock.get()
      }
    }
    try result.get()
  }

  private func close(_ connection: StoreConnection, mayCheckpoint: Bool) throws(StoreError) {
    try connection.database.run { database throws(SQLiteError) in
      if writeAheadLock != nil, mayCheckpoint { try database.set(.noCheckpointOnClose, to: false) }
      database.busyTimeout = .zero
      try database.close()
    }
  }
}
