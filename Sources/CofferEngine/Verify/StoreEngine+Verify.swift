internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

extension StoreEngine {
  /// Verifies the whole store except its indexes, which `indexProblems` verifies in the first transaction.
  package func verify(
    _ depth: Verdict.Depth, against anchor: StoreAnchor?, requiring requirement: StoreAnchor.Requirement = .sameOrNewer,
    allowingRekey allowsRekey: Bool = false, progress: ProgressHandler?,
    indexProblems: (StoreTransaction) throws(StoreError) -> [Verdict.IndexProblem]
  ) throws(StoreError) -> Verdict {
    var verdict = Verdict()
    // Empty the text cache, because a cached text may belong to a row that has changed.
    defer { session.texts?.empty() }
    try reading { transaction throws(StoreError) in
      try verifyHeader(transaction, &verdict)
      try verifyDocuments(transaction, depth, &verdict, progress)
      verdict.indexProblems = try indexProblems(transaction)
      verdict.verifiedState = try transaction.anchor()
      try verifyRelease(transaction, depth, &verdict, progress)
      guard let anchor else { return }
      do throws(StoreError) {
        verdict.anchor = try relation(
          of: transaction, to: anchor, requiring: requirement, allowingRekey: allowsRekey)
      } catch {
        verdict.anchorError = error
      }
    }
    verdict.damaged.sort { $0.id < $1.id }
    log.info("verified \(verdict.documents) documents, \(verdict.damaged.count) damaged")
    return verdict
  }

  /// Computes the contents again, and compares them with the release that the store was opened as.
  private func verifyRelease(
    _ transaction: StoreTransaction, _ depth: Verdict.Depth, _ verdict: inout Verdict, _ progress: ProgressHandler?
  ) throws(StoreError) {
    guard let release, depth != .quick else { return }
    do throws(StoreError) {
      try release.require(try ContentWalk.contents(of: transaction, progress: progress), in: transaction)
    } catch {
      guard !error.isTransient else { throw error }
      verdict.releaseError = error
    }
  }

  /// Verifies the header and slots in the file instead of the session's version, and the spare copy of both.
  private func verifyHeader(_ transaction: StoreTransaction, _ verdict: inout Verdict) throws(StoreError) {
    do throws(StoreError) {
      let proved = try transaction.proveHeader()
      guard proved.keys.header.mac == transaction.state.headerMAC else {
        throw .damagedStore("its header is not the one that its state names")
      }
      verdict.unusableSlots = try proved.slots.unusable(isTest: proved.keys.header.isTest)
      try proved.keys.header.requireSpare(transaction.database, slots: proved.slots)
    } catch {
      guard !error.isTransient else { throw error }
      verdict.problems.append(error.message)
    }
  }

  /// Returns a transaction's relation to an anchor.
  ///
  /// - Throws: `rolledBack` if the store is older than the anchor. `anchorMismatch` if it doesn't meet the requirement.
  package func relation(
    of transaction: StoreTransaction, to anchor: StoreAnchor, requiring requirement: StoreAnchor.Requirement,
    allowingRekey allowsRekey: Bool
  ) throws(StoreError) -> StoreAnchor.Relation {
    switch try compared(anchor, with: transaction, requiring: requirement, allowingRekey: allowsRekey) {
    case .success(let relation): return relation
    case .failure(let fault): throw anchor.error(fault, found: transaction.state)
    }
  }

  package func compared(
    _ anchor: StoreAnchor, with transaction: StoreTransaction,
    requiring requirement: StoreAnchor.Requirement = .sameOrNewer, allowingRekey allowsRekey: Bool
  ) throws(StoreError) -> Result<StoreAnchor.Relation, StoreAnchor.Fault> {
    let found = try transaction.anchor()
    let slot = holder.withLock { $0.slot }
    let opened = try transaction.proveHeader().slots.first { $0.slot == slot }
    return try anchor.compare(
      with: transaction.state, of: transaction.keys.session, mark: found.mark, requiring: requirement,
      allowingRekey: allowsRekey, hasPin: options.pin != nil, provesRootKey: opened?.requiresSecretToWrap ?? false)
  }

  /// Recomputes the set hash from all rows and collections, opens documents as deep as asked for, and checks the tables.
  private func verifyDocuments(
    _ transaction: StoreTransaction, _ depth: Verdict.Depth, _ verdict: inout Verdict, _ progress: ProgressHandler?
  ) throws(StoreError) {
    let check: DocumentCheck? =
      switch depth {
      case .quick: nil
      case .changed(let generation):
        DocumentCheck(transaction, changedSince: generation, try readableCollections(transaction))
      case .full: DocumentCheck(transaction, changedSince: 0, try readableCollections(transaction))
      }
    let concurrent = ConcurrentTableCheck(of: self, beside: transaction)
    defer { concurrent?.stop() }
    var walk = RowWalk(transaction, opening: check, progress: progress)
    try walk.run()
    // A corrupt page of texts ends the walk, but the rows can still be summed without them.
    let sum = check != nil && !walk.sum.problems.isEmpty ? try transaction.sumOfRows() : walk.sum
    verdict.documents = sum.count
    verdict.damaged = sum.damaged
    verdict.problems += sum.problems
    verdict.setMatches = sum.isComplete && sum.set == transaction.state.set
    verdict.countMatches =
      UInt64(sum.count) == transaction.state.count && UInt64(sum.deletionCount) == transaction.state.deletionCount
      && UInt64(sum.attachmentCount) == transaction.state.attachmentCount
    var attachments = AttachmentCheck(transaction)
    try attachments.run(opening: check, progress)
    let findings =
      check == nil ? nil : try walk.identities.findings(transaction, attachments: attachments.identities)
    var tables = if let tables = concurrent?.result() { tables } else { try TableCheck(transaction) }
    try tables.addMissingTexts(transaction, after: sum)
    verdict.add(tables.damaged)
    verdict.problems += tables.problems
    verdict.attachments = sum.attachmentCount
    verdict.damagedAttachments = attachments.damaged
    verdict.add(attachments.problems)
    guard let findings else { return }
    verdict.add(walk.damaged)
    verdict.add(walk.sum.problems)
    verdict.add(findings.damaged)
    verdict.add(findings.problems)
  }
}

extension Verdict {
  /// Adds damage of documents that isn't reported already.
  fileprivate mutating func add(_ more: [Verdict.Damage]) {
    var known = Set(damaged.map(\.id))
    damaged += more.filter { known.insert($0.id).inserted }
  }

  /// Adds problems that aren't reported already.
  fileprivate mutating func add(_ more: [String]) {
    let known = Set(problems)
    problems += more.filter { !known.contains($0) }
  }
}

extension StoreEngine {
  /// Returns the collections, or an empty array if one is damaged, which `verifyStructure` has reported.
  private func readableCollections(_ transaction: StoreTransaction) throws(StoreError) -> [CollectionRecord] {
    do throws(StoreError) {
      return try transaction.collections()
    } catch {
      guard !error.isTransient else { throw error }
      return []
    }
  }
}
