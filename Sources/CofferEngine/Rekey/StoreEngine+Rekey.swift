internal import CofferRecords

extension StoreEngine {
  /// Changes the keys, reseals the rows, and ends the rekey.
  ///
  /// - Parameter onKeys: Called before the first write with the slots that keep their secrets, and after the key change
  ///   with the pin after the rekey, too. Throwing from it stops the rekey.
  package func rekey(
    to keys: [StoreKey], _ recipients: [Recipient], options: RekeyOptions, progress: ProgressHandler?,
    onKeys: (([KeySlot], StorePin?) throws -> Void)?, buildIndexes: () throws(StoreError) -> Void
  ) throws(StoreError) -> RekeyReport {
    guard !isReadOnly else {
      throw .notWritable(path, isChosen: isReadOnlyByChoice)
    }
    try connections.requireNoRead("rekey")
    guard options.titles == nil || !(options.isKeysOnly || options.isResuming) else {
      throw StoreError(
        .invalidArgument, "titles change only in a whole new rekey, neither a resumed one nor one of the keys only")
    }
    var report = try reading { transaction throws(StoreError) in
      try RekeyReport(transaction.keys.session, transaction.state)
    }
    let total = report.total
    let stopped = "the rekey was stopped; the store is consistent"
    func tell(_ phase: WorkProgress.Phase) throws(StoreError) {
      try WorkProgress(done: report.documents, total: total, phase: phase).tell(
        progress, stopped: stopped, hint: "go on with \(.resumeRekey)")
    }
    func reportKeys(_ finalPin: StorePin?) throws(StoreError) {
      guard let onKeys else { return }
      let slots = report.unchangedSlots
      let handler: ProgressHandler = { _ in try onKeys(slots, finalPin) }
      try WorkProgress(done: 0, total: total, phase: .beginning).tell(handler, stopped: stopped)
    }
    if options.isResuming {
      guard report.needsResuming else { throw .noUnfinishedRekey(path) }
      try reportKeys(report.isFinished ? nil : report.finalPin)
    } else {
      let change = KeyChange(store: self, options: options, keys: keys, recipients: recipients)
      // The plan's secrets must be erased before the documents follow.
      func changeKeys() throws(StoreError) -> SessionKeys {
        let plan = try change.plan()
        report.unchangedSlots = plan.unchanged
        try reportKeys(nil)
        try tell(.beginning)
        return try change.run(plan)
      }
      let keys = try changeKeys()
      report.isFinished = false
      try report.update(keys)
      try reportKeys(report.finalPin)
      log.info("changed the root key")
    }
    try tell(.working)
    if options.isKeysOnly {
      try emptyLog(after: "the keys were changed") { () throws(StoreError) in try tell(.waiting) }
      report.hasOldPages = false
      report.remaining = total
      return report
    }
    do throws(StoreError) {
      let limit = max(1, min(options.batchSize, 1 << 20))
      let walk = RekeyWalk(self, limit: limit)
      while try walk.next(&report) { try tell(.working) }
      let attachments = AttachmentRekey(self, limit: limit)
      while try attachments.next(&report) { try tell(.working) }
      try tell(.finishing)
      try rebuildIndexes(buildIndexes)
      try clearSlack { () throws(StoreError) in try tell(.waiting) }
      try finishRekey(&report)
    } catch {
      throw error.afterKeyChange()
    }
    try emptyLog(after: "the rekey is done") { () throws(StoreError) in try tell(.waiting) }
    report.hasOldPages = false
    report.remaining = report.skippedDocuments
    try report.update(try session.keys)
    log.info("re-encrypted \(report.documents) documents, skipped \(report.remaining)")
    return report
  }

  /// Builds the indexes whose pages the key change deleted. If the report contains damaged or missing documents, the
  /// indexes are built later.
  private func rebuildIndexes(_ buildIndexes: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try buildIndexes()
    } catch {
      guard error.code == .damaged || error.code == .setMismatch else { throw error }
      log.info("the indexes were not built: \(error.message)")
    }
  }

  package func rekeyStatus() throws(StoreError) -> RekeyReport {
    try reading { transaction throws(StoreError) in
      var report = try RekeyReport(transaction.keys.session, transaction.state)
      guard !report.isFinished else { return report }
      let remaining = try transaction.database.integer(SQL.countBelowEpoch, Int64(transaction.state.target))
      report.remaining = try Int(remaining ?? 0) + AttachmentRekey.remainingDocuments(in: transaction)
      return report
    }
  }
}

extension StoreError {
  /// Returns the error with a note that the new key must be kept. Use it after the first commit.
  fileprivate func afterKeyChange() -> StoreError {
    // Another key change stopped the rekey, and the error has its own message.
    guard code != .keyChanged else { return self }
    // The caller stopped the rekey, perhaps during a SQLite statement, whose error doesn't mention the rekey.
    guard code != .cancelled else {
      return advice == nil ? StoreError(code, message, hint: "go on with \(.resumeRekey)") : self
    }
    return StoreError(
      code, "the key was changed, but re-encryption is unfinished: \(message)",
      hint: "the store opens with the new key; go on with \(.resumeRekey)", documentID: documentID)
  }
}
