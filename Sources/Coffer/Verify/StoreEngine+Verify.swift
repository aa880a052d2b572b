internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

extension StoreEngine {
  /// Verifies the whole store; see ``DocumentStore/verify(_:anchor:progress:)``.
  func verify(
    _ depth: VerifyDepth, anchor line: String?, _ anchorOptions: AnchorOptions,
    progress: ProgressHandler?
  ) throws(StoreError) -> Verdict {
    let anchor: Anchor? = if let line { try Anchor(line) } else { nil }
    var verdict = Verdict()
    // A text that was read before must not stay believed after its row was found to be another.
    defer { session.texts?.empty() }
    try reading { transaction throws(StoreError) in
      try verifyHeader(transaction, &verdict)
      try verifySet(transaction, &verdict)
      try verifyStructure(transaction, &verdict)
      verdict.indexProblems = try transaction.indexProblems()
      guard let anchor else { return }
      do throws(StoreError) {
        verdict.anchor = try compare(anchor, with: transaction, anchorOptions)
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

  /// Verifies header and slots as they are in the file now, not as the session holds them, and the spare copy of both.
  private func verifyHeader(_ transaction: StoreTransaction, _ verdict: inout Verdict) throws(StoreError) {
    do throws(StoreError) {
      let proved = try transaction.proveHeader()
      guard proved.keys.header.mac == transaction.state.headerMAC else {
        throw .damagedStore("its header is not the one that its state names")
      }
      try proved.keys.header.requireSpare(transaction.database, slots: proved.slots)
    } catch {
      guard !error.isPassing else { throw error }
      verdict.problems.append(error.message)
    }
  }

  func compare(_ anchor: Anchor, with transaction: StoreTransaction, _ options: AnchorOptions) throws(StoreError)
    -> AnchorCheck
  {
    switch try compared(anchor, with: transaction, options) {
    case .success(let check): return check
    case .failure(let fault): throw anchor.error(fault, found: transaction.state)
    }
  }

  func compared(_ anchor: Anchor, with transaction: StoreTransaction, _ options: AnchorOptions) throws(StoreError)
    -> Result<AnchorCheck, Anchor.Fault>
  {
    let found = try transaction.anchor()
    let slot = holder.withLock { $0.slot }
    let opened = try transaction.proveHeader().slots.first { $0.slot == slot }
    return try anchor.compare(
      with: transaction.state, of: transaction.keys.session, mark: found.mark, options,
      hasPin: self.options.expectedPin != nil, provesRootKey: opened?.isMadeWithItsSecret ?? false)
  }

  /// Sums every row and collection again.
  private func verifySet(_ transaction: StoreTransaction, _ verdict: inout Verdict) throws(StoreError) {
    let sum = try transaction.sumOfRows()
    verdict.documents = sum.count
    verdict.damaged = sum.damaged
    verdict.problems += sum.problems
    verdict.setMatches = sum.isComplete && sum.set == transaction.state.set
    verdict.countMatches = UInt64(sum.count) == transaction.state.count
  }

  private func verifyStructure(_ transaction: StoreTransaction, _ verdict: inout Verdict) throws(StoreError) {
    let database = transaction.database
    func ids(_ sql: String) throws(StoreError) -> [Int64] {
      do throws(StoreError) {
        return try database.rows(sql).compactMap { if case .integer(let id) = $0[0] { id } else { nil } }
      } catch {
        guard !error.isPassing else { throw error }
        // Pages in disorder; the integrity check names them.
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
      // Names are bytes: the composed and the decomposed form are two.
      let names = try transaction.collections().map { Array($0.name.utf8) }
      if Set(names).count != names.count { verdict.problems.append("two collections have one name") }
    } catch {
      guard !error.isPassing else { throw error }
      verdict.problems.append(error.message)
    }
    verdict.problems += try integrityProblems(database)
  }

  /// Opens each head and text; a concurrent rekey or write is no damage.
  private func verifyDocuments(
    changedSince generation: UInt64, _ verdict: inout Verdict, _ progress: ProgressHandler?
  ) throws(StoreError) {
    let batch = 512
    var last: Int64 = 0
    var done = 0
    var known = Set(verdict.damaged.map(\.id))
    while true {
      var seen = 0
      try reading { transaction throws(StoreError) in
        let statement = try transaction.database.statement(
          SQL.batchAfter, last, Int64(clamping: generation), Int64(batch))
        defer { statement.reset() }
        let reader = transaction.connection.takeReader()
        defer { transaction.connection.giveBack(reader) }
        let opener = reader.opener
        let collections = try transaction.collectionsThatOpen()
        while true {
          try transaction.requireOpen()
          do throws(StoreError) {
            guard try statement.step() else { break }
          } catch {
            // Pages in disorder end the walk; the rows behind them can't be listed.
            guard error.code == .damaged else { throw error }
            verdict.problems.append(error.message)
            return
          }
          seen += 1
          last = statement.int64(at: 0)
          do throws(StoreError) {
            let row = try RecordRow(statement.columns(), within: transaction.limits)
            let head = try opener.openHead(row)
            _ = try opener.openBody(row, head)
            try transaction.requireBlindIndex(of: row, head, in: collections)
          } catch {
            guard !error.isPassing else { throw error }
            guard error.code == .damaged, known.insert(DocumentID(last)).inserted else { continue }
            verdict.add(last, error.message)
          }
        }
      }
      if seen == 0 { return }
      done += seen
      try WorkProgress(done: done, total: max(done, verdict.documents)).tell(
        progress, stopped: "verifying was stopped; nothing was changed")
      if seen < batch { return }
    }
  }
}

extension Verdict {
  fileprivate mutating func add(_ id: Int64, _ reason: String) {
    guard !damaged.contains(where: { $0.id == DocumentID(id) }) else { return }
    damaged.append(DamagedDocument(id: DocumentID(id), reason: reason))
  }
}

/// The findings of SQLite's integrity check; quick_check would miss most wrong orders of an index.
///
/// - Throws: errors that are no findings: `systemFailure`, `locked`, `cancelled`.
func integrityProblems(_ database: StoreDatabase) throws(StoreError) -> [String] {
  do throws(SQLiteError) {
    return try database.connection.query(SQL.integrity).rows.compactMap { row in
      guard case .text(let finding) = row[0], finding != "ok" else { return nil }
      return "SQLite: \(finding)"
    }
  } catch {
    let failure = StoreError(error)
    guard !failure.isPassing else { throw failure }
    return ["SQLite can't check its pages: \(error.message)"]
  }
}

extension StoreTransaction {
  func anchor() throws(StoreError) -> Anchor {
    Anchor(state, keys.session, mark: try connection.mark(of: state))
  }

  /// Requires that the key in a head finds the document; without a sound collection, no look-up is possible.
  fileprivate func requireBlindIndex(of row: RecordRow, _ head: HeadData, in collections: [CollectionRecord])
    throws(StoreError)
  {
    guard let key = head.key, let context = keys.context(of: row.fields.epoch),
      let record = collections.first(where: { $0.id == row.fields.collection })
    else { return }
    var wanted: [UInt8]?
    do throws(StoreError) {
      wanted = try keys.blindIndex(of: ExternalKey(bytes: key), in: record, under: context)
    } catch {
      // A key that can't be folded was never looked up here.
      guard !error.isPassing else { throw error }
    }
    guard let wanted, let index = row.blindIndex, index.elementsEqual(wanted) else {
      throw .damagedDocument(row.fields.id, "it is not found by its key")
    }
  }

  /// The collections; none if one is damaged, which the check of the structure has reported.
  fileprivate func collectionsThatOpen() throws(StoreError) -> [CollectionRecord] {
    do throws(StoreError) {
      return try collections()
    } catch {
      guard !error.isPassing else { throw error }
      return []
    }
  }

  /// The set hash and count of the rows that are in the file.
  struct RowSum {
    var set = SetHash()
    var count = 0
    var damaged: [DamagedDocument] = []
    var problems: [String] = []
    /// False if a row was so damaged that it could not be summed.
    var isComplete = true
  }

  private func add(_ element: SetElement, to set: inout SetHash) throws(StoreError) {
    do throws(SealingError) { try keys.summer.add(element, to: &set) } catch { throw StoreError(error) }
  }

  /// Whether a sum is that of the rows that were written: set hash and count are the state's.
  func isWhole(_ sum: RowSum) -> Bool {
    sum.isComplete && sum.set == state.set && UInt64(sum.count) == state.count
  }

  /// - Throws: `damaged` for the first row that does not open; `setMismatch`.
  func requireWhole(_ sum: RowSum) throws(StoreError) {
    if let damaged = sum.damaged.first {
      throw StoreError(.damaged, damaged.reason, hint: "\(.verify) shows what else is", documentID: damaged.id)
    }
    guard isWhole(sum) else { throw .setMismatch }
  }

  /// - Parameter visit: called with each row that is in the sum; `damaged` is a finding.
  /// - Throws: errors that are no findings: `systemFailure`, `locked`, `cancelled`.
  func sumOfRows(_ visit: (RecordRow, RecordOpener) throws(StoreError) -> Void = { _, _ in }) throws(StoreError)
    -> RowSum
  {
    var sum = RowSum()
    do throws(StoreError) {
      for row in try connection.collections.rows(within: limits) { try add(try row.element(keys), to: &sum.set) }
    } catch {
      guard !error.isPassing else { throw error }
      sum.isComplete = false
      sum.problems.append("a collection's row is damaged")
    }
    do throws(StoreError) {
      let statement = try database.statement(SQL.allAlone)
      defer { statement.reset() }
      let reader = connection.takeReader()
      defer { connection.giveBack(reader) }
      var last: Int64 = 0
      while try statement.step() {
        try requireOpen()
        sum.count += 1
        do throws(StoreError) {
          let id = statement.int64(at: 0)
          // A row that a page gives 2^16 times would vanish from the sum.
          guard id > last else { throw .damagedDocument(id, "it is not in its order") }
          last = id
          let row = try RecordRow(statement.columns(), within: limits)
          try add(try reader.opener.element(of: row), to: &sum.set)
          try visit(row, reader.opener)
          if (try? reader.opener.requireBounds(row)) == nil {
            // It is in the sum, so that a row that an honest rekey left behind is damage and no mismatch.
            sum.damaged.append(
              DamagedDocument(
                id: DocumentID(id), reason: "document \(id) is under old keys, where only new ones can be"))
          }
        } catch {
          guard !error.isPassing else { throw error }
          sum.isComplete = false
          sum.damaged.append(DamagedDocument(id: DocumentID(statement.int64(at: 0)), reason: error.message))
        }
      }
    } catch {
      guard !error.isPassing else { throw error }
      sum.isComplete = false
      sum.problems.append(error.message)
    }
    return sum
  }
}
