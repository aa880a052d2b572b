internal import CofferRecords

extension StoreEngine {
  /// The key change, the walk over the rows, and the end; see ``DocumentStore/rekey(to:options:progress:)``.
  func rekey(
    to replacements: [NewKey], options: RekeyOptions, progress: (RekeyProgress) throws -> Void
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
    report.pin = StorePin(session.header).line
    if options.isKeysOnly {
      try emptyLog(after: "the keys were changed") { () throws(StoreError) in try tell(.waiting) }
      return report
    }
    try tell(.documents)
    do throws(StoreError) {
      let walk = RekeyWalk(self, limit: max(1, options.batchSize))
      while try walk.next(&report) { try tell(.documents) }
      try tell(.finishing)
      try clearSlack { () throws(StoreError) in try tell(.waiting) }
      try finishRekey(&report)
    } catch {
      throw error.afterKeyChange()
    }
    try emptyLog(after: "the rekey is done") { () throws(StoreError) in try tell(.waiting) }
    report.pin = StorePin(session.header).line
    log.info("re-encrypted \(report.documents) documents, skipped \(report.skipped.count)")
    return report
  }

  func rekeyStatus() throws(StoreError) -> RekeyStatus {
    try reading { transaction throws(StoreError) in
      let state = transaction.state
      let remaining =
        state.target == 0 ? 0 : try transaction.database.integer(SQL.countBelowEpoch, Int64(state.target)) ?? 0
      return RekeyStatus(
        isUnfinished: state.target != 0, hasOldPages: state.unwiped != 0, remaining: Int(remaining), total: Int(state.count),
        epochs: transaction.keys.epochs.map(\.epoch))
    }
  }
}

extension StoreError {
  /// Adds to an error after the first commit that the new key must be kept.
  fileprivate func afterKeyChange() -> StoreError {
    // Stopped by the caller, or by another key change, which has its own message.
    guard code != .cancelled, code != .keyChanged else { return self }
    return StoreError(
      code, "the key was changed, but re-encryption is unfinished: \(message)",
      hint: "the store opens with the new key; go on with rekey --resume", documentID: documentID)
  }
}
