internal import CofferRecords

extension StoreEngine {
  /// The key change, the walk over the rows, and the end; see ``DocumentStore/rekey(to:options:progress:onKeys:)``.
  func rekey(
    to replacements: [NewKey], options: RekeyOptions, progress: ProgressHandler?,
    onKeys: ((RekeyKeys) throws -> Void)?
  ) throws(StoreError) -> RekeyReport {
    guard !isReadOnly else {
      throw .notWritable(path, isChosen: self.options.isReadOnly)
    }
    try connections.requireNoRead("rekey")
    guard options.titles == nil || !(options.isKeysOnly || options.isResuming) else {
      throw StoreError(
        .invalidArgument, "titles change only in a whole new rekey, neither a resumed one nor one of the keys only")
    }
    var report = RekeyReport()
    let total = try reading { transaction throws(StoreError) in Int(transaction.state.count) }
    let stopped = "the rekey was stopped; the store is consistent"
    func tell(_ phase: WorkProgress.Phase) throws(StoreError) {
      try WorkProgress(done: report.documents, total: total, phase: phase).tell(
        progress, stopped: stopped, hint: "go on with \(.resumeRekey)")
    }
    func tellKeys(_ keys: RekeyKeys) throws(StoreError) {
      guard let onKeys else { return }
      let handler: ProgressHandler = { _ in try onKeys(keys) }
      try WorkProgress(done: 0, total: total, phase: .beginning).tell(handler, stopped: stopped)
    }
    var finalPin: String?
    if !options.isResuming {
      let change = KeyChange(store: self, options: options, replacements: replacements)
      let plan = try change.plan()
      try tellKeys(RekeyKeys(unchangedSlots: plan.unchanged, finalPin: nil))
      try tell(.beginning)
      finalPin = try change.run(plan)
      try tellKeys(RekeyKeys(unchangedSlots: plan.unchanged, finalPin: finalPin))
      log.info("changed the root key")
    } else {
      finalPin = try reading { transaction throws(StoreError) in try transaction.finalPin() }
      try tellKeys(RekeyKeys(unchangedSlots: [], finalPin: finalPin))
    }
    report.pin = StorePin(session.header).line
    report.finalPin = finalPin ?? report.pin
    try tell(.working)
    if options.isKeysOnly {
      try emptyLog(after: "the keys were changed") { () throws(StoreError) in try tell(.waiting) }
      return report
    }
    do throws(StoreError) {
      let walk = RekeyWalk(self, limit: max(1, options.batchSize))
      while try walk.next(&report) { try tell(.working) }
      try tell(.finishing)
      try rebuildIndexes()
      try clearSlack { () throws(StoreError) in try tell(.waiting) }
      try finishRekey(&report)
    } catch {
      throw error.afterKeyChange()
    }
    try emptyLog(after: "the rekey is done") { () throws(StoreError) in try tell(.waiting) }
    report.pin = StorePin(session.header).line
    if report.isFinished { report.finalPin = report.pin }
    log.info("re-encrypted \(report.documents) documents, skipped \(report.skipped.count)")
    return report
  }

  /// Builds the indexes, whose pages the key change deleted. Damaged documents, which the report names, leave them for
  /// later.
  private func rebuildIndexes() throws(StoreError) {
    do throws(StoreError) {
      _ = try updateIndexes(nil, makingAgain: true)
    } catch {
      guard error.code == .damaged else { throw error }
      log.info("the indexes were not built: \(error.message)")
    }
  }

  func rekeyStatus() throws(StoreError) -> RekeyStatus {
    try reading { transaction throws(StoreError) in
      let state = transaction.state
      let remaining =
        state.target == 0 ? 0 : try transaction.database.integer(SQL.countBelowEpoch, Int64(state.target)) ?? 0
      return RekeyStatus(
        isUnfinished: state.target != 0, hasOldPages: state.unwiped != 0, remaining: Int(remaining),
        total: Int(state.count), epochs: transaction.keys.epochs.map(\.epoch),
        pin: StorePin(transaction.keys.session.header).line, finalPin: try transaction.finalPin())
    }
  }
}

extension StoreTransaction {
  /// The pin of the store when its unfinished rekey has ended; nil if none is unfinished.
  func finalPin() throws(StoreError) -> String? {
    guard state.target != 0 else { return nil }
    let keys = keys.session
    return try StorePin(keys.root, phase: keys.header.phase + 1).line
  }
}

extension StoreError {
  /// Adds to an error after the first commit that the new key must be kept.
  fileprivate func afterKeyChange() -> StoreError {
    // Stopped by the caller, or by another key change, which has its own message.
    guard code != .cancelled, code != .keyChanged else { return self }
    return StoreError(
      code, "the key was changed, but re-encryption is unfinished: \(message)",
      hint: "the store opens with the new key; go on with \(.resumeRekey)", documentID: documentID)
  }
}
