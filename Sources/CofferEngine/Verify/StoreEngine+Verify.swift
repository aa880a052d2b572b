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
      try verifySet(transaction, &verdict)
      try verifyStructure(transaction, &verdict)
      verdict.indexProblems = try indexProblems(transaction)
      verdict.verifiedState = try transaction.anchor()
      guard let anchor else { return }
      do throws(StoreError) {
        verdict.anchor = try relation(
          of: transaction, to: anchor, requiring: requirement, allowingRekey: allowsRekey)
      } catch {
        verdict.anchorError = error
      }
    }
    switch depth {
    case .quick: break
    case .changed(let generation): try verifyDocuments(changedSince: generation, &verdict, progress)
    case .full: try verifyDocuments(changedSince: 0, &verdict, progress)
    }
    verdict.damaged.sort { $0.id < $1.id }
    log.info("verified \(verdict.documents) documents, \(verdict.damaged.count) damaged")
    return verdict
  }

  /// Verifies the header and slots in the file instead of the session's version, and the spare copy of both.
  private func verifyHeader(_ transaction: StoreTransaction, _ verdict: inout Verdict) throws(StoreError) {
    do throws(StoreError) {
      let proved = try transaction.proveHeader()
      guard proved.keys.header.mac == transaction.state.headerMAC else {
        throw .damagedStore("its header is not the one that its state names")
      }
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

  /// Recomputes the set hash from all rows and collections.
  private func verifySet(_ transaction: StoreTransaction, _ verdict: inout Verdict) throws(StoreError) {
    let sum = try transaction.sumOfRows()
    verdict.documents = sum.count
    verdict.damaged = sum.damaged
    verdict.problems += sum.problems
    verdict.setMatches = sum.isComplete && sum.set == transaction.state.set
    verdict.countMatches =
      UInt64(sum.count) == transaction.state.count && UInt64(sum.deletionCount) == transaction.state.deletionCount
  }

  private func verifyStructure(_ transaction: StoreTransaction, _ verdict: inout Verdict) throws(StoreError) {
    let database = transaction.database
    func ids(_ sql: String) throws(StoreError) -> [Int64] {
      do throws(StoreError) {
        return try database.rows(sql).compactMap { if case .integer(let id) = $0[0] { id } else { nil } }
      } catch {
        guard !error.isTransient else { throw error }
        // The pages are corrupt, which the integrity check reports.
        return []
      }
    }
    for id in try ids(SQL.recordsWithoutBody) { verdict.add(id, "its text is missing") }
    for id in try ids(SQL.recordsWithTwoBodies) { verdict.add(id, "it has two texts") }
    for id in try ids(SQL.bodiesTooShort) { verdict.add(id, "its text is no blob of its place's length") }
    for id in try ids(SQL.bodiesWithoutRecord) { verdict.problems.append("a text without a document, \(id)") }
    for coll in try ids(SQL.recordsWithoutCollection) {
      verdict.problems.append("collection #\(coll) is gone, but documents of it are there")
    }
    do throws(StoreError) {
      let uids = try transaction.storedCollections().map(\.uid)
      if Set(uids).count != uids.count { verdict.problems.append("two collections have one identity") }
    } catch {
      guard !error.isTransient else { throw error }
      verdict.problems.append(error.message)
    }
    verdict.problems += try integrityProblems(database)
  }

  /// Opens each head and text. A concurrent rekey or write isn't reported as damage.
  private func verifyDocuments(
    changedSince generation: UInt64, _ verdict: inout Verdict, _ progress: ProgressHandler?
  ) throws(StoreError) {
    var walk = VerifyingWalk(changedSince: generation, known: Set(verdict.damaged.map(\.id)))
    while !walk.isAtEnd {
      try reading { transaction throws(StoreError) in
        try walk.next(transaction, try readableCollections(transaction))
      }
      try WorkProgress(done: walk.done, total: max(walk.done, verdict.documents)).tell(
        progress, stopped: "verifying was stopped; nothing was changed")
    }
    verdict.damaged += walk.damaged
    verdict.problems += walk.problems
    let known = Set(verdict.damaged.map(\.id))
    let findings = try reading { transaction throws(StoreError) in try walk.identities.findings(transaction) }
    verdict.damaged += findings.damaged.filter { !known.contains($0.id) }
    verdict.problems += findings.problems.filter { !verdict.problems.contains($0) }
  }
}

extension Verdict {
  fileprivate mutating func add(_ id: Int64, _ reason: String) {
    guard !damaged.contains(where: { $0.id == DocumentID(id) }) else { return }
    damaged.append(Verdict.Damage(id: DocumentID(id), reason: reason))
  }
}

/// Returns the findings of SQLite's integrity check. A quick_check would miss most index pages in wrong order.
///
/// - Throws: Errors that aren't findings: `systemFailure`, `locked`, `cancelled`.
package func integrityProblems(_ database: StoreDatabase) throws(StoreError) -> [String] {
  do throws(SQLiteError) {
    return try database.connection.query(SQL.integrity).rows.compactMap { row in
      guard case .text(let finding) = row[0], finding != "ok" else { return nil }
      return "SQLite: \(finding)"
    }
  } catch {
    let failure = StoreError(error)
    guard !failure.isTransient else { throw failure }
    return ["SQLite can't check its pages: \(error.message)"]
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
