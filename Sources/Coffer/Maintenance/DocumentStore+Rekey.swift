internal import CofferSQLite

extension DocumentStore {
  /// Gives the store a new root key at once, then seals every document under a new epoch in batches.
  ///
  /// Others read and write meanwhile; what they write is under the new keys already. A kill at any point loses at most
  /// one batch of work: the store opens with the new key from the first commit on, and `isResuming` goes on.
  /// FORMAT, "Changing keys".
  ///
  /// - Parameters:
  ///   - replacements: new keys in the place of the slot that opened; none keeps the same secrets, which are asked for
  ///     again.
  ///   - progress: called before the first and after every commit; throwing from it stops between batches, and the
  ///     store stays consistent.
  /// - Throws: `keyNeeded` before the first write, listing the slots whose secret is missing; `readOnly`; `cancelled`.
  @discardableResult
  public func rekey(
    to replacements: [NewKey] = [], options: RekeyOptions = RekeyOptions(),
    progress: (RekeyProgress) throws -> Void
  ) throws(StoreError) -> RekeyReport {
    guard !isReadOnly else {
      throw StoreError(.readOnly, "the store can't be written to, so its keys can't be changed")
    }
    try connections.requireNoRead("rekey")
    guard options.titles == nil || !(options.isKeysOnly || options.isResuming) else {
      throw StoreError(
        .invalidArgument, "titles change as documents are sealed anew, in a rekey of its own that comes to its end")
    }
    var report = RekeyReport()
    let total = try reading { transaction throws(StoreError) in Int(transaction.state.count) }
    func tell(_ phase: RekeyProgress.Phase) throws(StoreError) {
      do {
        try progress(RekeyProgress(phase: phase, done: report.documents, total: total))
      } catch let error as StoreError {
        throw error
      } catch {
        throw StoreError(
          .cancelled, "the rekey was stopped; the store is consistent", hint: "go on with rekey --resume")
      }
    }
    if !options.isResuming {
      try tell(.keys)
      try KeyChange(store: self, options: options, replacements: replacements).run()
      log.info("changed the root key")
    }
    report.pin = pin
    if options.isKeysOnly { return report }
    try tell(.documents)
    do throws(StoreError) {
      var mayRestart = true
      var isOver = false
      let walk = RekeyWalk(self, limit: max(1, options.batchSize))
      while !isOver {
        while try walk.next(&report) { try tell(.documents) }
        try tell(.finishing)
        try clearSlack { () throws(StoreError) in try tell(.waiting) }
        isOver = try finishRekey(&report, mayRestart: mayRestart)
        mayRestart = false
      }
    } catch {
      throw error.afterKeyChange()
    }
    do throws(StoreError) {
      try connections.withEmptyLog(waiting: { () throws(StoreError) in try tell(.waiting) }) { _ in () }
    } catch {
      guard error.code == .locked else { throw error }
      throw StoreError(
        .locked, "the rekey is done, but \(error.message)", hint: "close the readers and run rekey --resume")
    }
    report.pin = pin
    log.info("re-encrypted \(report.documents) documents, skipped \(report.skipped.count)")
    return report
  }

  /// ``rekey(to:options:progress:)`` as a sequence of its progress; ends when the rekey has.
  ///
  /// Ending the iteration early stops the rekey between batches.
  public func rekey(to replacements: [NewKey] = [], options: RekeyOptions = RekeyOptions())
    -> AsyncThrowingStream<RekeyProgress, any Error>
  {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(16)) { continuation in
      let task = Task.detached {
        do {
          try await self.offCooperativePool { _ in
            _ = try self.rekey(to: replacements, options: options) { step in
              if case .terminated = continuation.yield(step) { throw CancellationError() }
            }
          }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Whether documents remain under old keys. Counts by a scan of the table.
  public func rekeyStatus() throws(StoreError) -> RekeyStatus {
    try reading { transaction throws(StoreError) in
      let state = transaction.state
      let remaining =
        state.target == 0
        ? nil
        : try transaction.database.stored { database throws(SQLiteError) in
          try database.firstValue(SQL.countBelowEpoch, Int64(state.target))
        }
      var count = 0
      if case .integer(let number)? = remaining { count = Int(number) }
      return RekeyStatus(
        isUnfinished: state.target != 0, remaining: count, total: Int(state.count),
        epochs: transaction.keys.epochs.map(\.epoch))
    }
  }
}

extension StoreError {
  /// What stops a rekey after its first commit must not make anyone throw the new key away.
  fileprivate func afterKeyChange() -> StoreError {
    // Stopped as told, or by another key change, of which its own message speaks.
    guard code != .cancelled, code != .keyChanged else { return self }
    return StoreError(
      code, "the key was changed, but re-encryption is unfinished: \(message)",
      hint: "the store opens with the new key; go on with rekey --resume", documentID: documentID)
  }
}
