internal import CofferRecords
internal import CofferSealing

/// Walks all rows of a transaction on several threads, adds them to the set hash, and opens the documents to verify.
struct RowWalk {
  typealias Visit = (RecordRow, RecordOpener) throws(StoreError) -> Void

  private static let batchCount = 4

  private let transaction: StoreTransaction
  private let check: DocumentCheck?
  private let progress: ProgressHandler?
  /// The error of the progress handler, which isn't a finding.
  private var interruption: StoreError?
  private(set) var sum = StoreTransaction.RowSum()
  /// The documents whose contents are damaged although their rows are part of the sum.
  private(set) var damaged: [Verdict.Damage] = []
  /// The identities and parents in the opened heads.
  private(set) var identities = IdentityCheck()

  /// - Parameters:
  ///   - check: The check of documents to decrypt, or `nil` to not decrypt documents.
  init(_ transaction: StoreTransaction, opening check: DocumentCheck? = nil, progress: ProgressHandler? = nil) {
    (self.transaction, self.check, self.progress) = (transaction, check, progress)
  }

  /// Walks the collections, the deletions, the attachments and the documents.
  ///
  /// - Parameter visit: Called on this thread with each row in the sum, unless the walk opens documents in place.
  /// - Throws: Errors that aren't findings, such as `systemFailure`, `locked` or `cancelled`.
  mutating func run(_ visit: Visit = { _, _ in }) throws(StoreError) {
    do throws(StoreError) {
      for row in try transaction.connection.collections.rows(within: transaction.limits) {
        try add(try row.element(transaction.keys))
      }
    } catch {
      try note("a collection's row is damaged", error)
    }
    do throws(StoreError) {
      try DeletionWalk.forEach(transaction.database, within: transaction.limits) { row throws(StoreError) in
        try transaction.requireOpen()
        try add(try row.element(transaction.keys))
        sum.deletionCount += 1
      }
    } catch {
      try note("the row of a deletion is damaged", error)
    }
    do throws(StoreError) {
      var attachments = AttachmentWalk(
        transaction.database, within: transaction.limits, next: transaction.nextAttachment)
      try attachments.forEach(refused: { error throws(StoreError) in try note(error.message, error) }) {
        row throws(StoreError) in
        try transaction.requireOpen()
        sum.attachmentCount += 1
        try add(try row.element(transaction.keys))
      }
    } catch {
      try note("the row of an attachment is damaged", error)
    }
    do throws(StoreError) {
      try walkDocuments(visit)
    } catch {
      if let interruption { throw interruption }
      try note(error.message, error)
    }
    sum.damaged.sort { $0.id < $1.id }
  }

  private mutating func add(_ element: SetElement) throws(StoreError) {
    try translatingErrors { () throws(SealingError) in try transaction.keys.summer.add(element, to: &sum.set) }
  }

  private mutating func note(_ problem: String, _ error: StoreError) throws(StoreError) {
    guard !error.isTransient else { throw error }
    sum.isComplete = false
    sum.problems.append(problem)
  }

  /// Records a row that isn't part of the sum.
  private mutating func note(_ id: Int64, _ error: StoreError) throws(StoreError) {
    guard !error.isTransient else { throw error }
    sum.isComplete = false
    sum.damaged.append(Verdict.Damage(id: DocumentID(id), reason: error.message))
  }

  private mutating func walkDocuments(_ visit: Visit) throws(StoreError) {
    let statement =
      if let check {
        try transaction.database.statement(SQL.allWithBodyAfter, Int64(clamping: check.generation))
      } else {
        try transaction.database.statement(SQL.allAlone)
      }
    defer { statement.reset() }
    let reader = transaction.connection.takeReader()
    defer { transaction.connection.giveBack(reader) }
    let (session, check) = (transaction.keys.session, check)
    var last: Int64 = 0
    let conveyor = Conveyor<RowBatch<SummedRows>>(limit: Self.batchCount, workers: .any) { $0.process() }
    try conveyor.run(
      make: { () throws(StoreError) in RowBatch(try SummedRows(session, check)) },
      fill: { batch throws(StoreError) in
        batch.fill { () throws(StoreError) in try nextRow(statement, &last) }
      },
      take: { batch throws(StoreError) in
        try batch.takeRows { work, rows throws(StoreError) in try take(work, of: rows, reader.opener, visit) }
        try report()
      })
  }

  private mutating func report() throws(StoreError) {
    do throws(StoreError) {
      try WorkProgress(done: sum.count, total: max(sum.count, Int(clamping: transaction.state.count))).tell(
        progress, stopped: "verifying was stopped; nothing was changed")
    } catch {
      interruption = error
      throw error
    }
  }

  /// Returns the next row whose columns are valid.
  private mutating func nextRow(_ statement: StoreStatement, _ last: inout Int64) throws(StoreError) -> RecordRow? {
    while true {
      try transaction.requireOpen()
      guard try statement.step() else { return nil }
      sum.count += 1
      let id = statement.int64(at: 0)
      do throws(StoreError) {
        // A row that a page returns 2^16 times would vanish from the sum.
        guard id > last else { throw .damagedDocument(id, "it is not in its order") }
        last = id
        let row = try RecordRow(statement.columns(), within: transaction.limits)
        if !row.hasBodyInRecord { sum.bodiesBesideRecords += 1 }
        return row
      } catch {
        try note(id, error)
      }
    }
  }

  private mutating func take(
    _ work: SummedRows, of rows: [RecordRow], _ opener: RecordOpener, _ visit: Visit
  ) throws(StoreError) {
    sum.set.add(work.set)
    for (id, error) in work.unsummed { try note(id, error) }
    var unsummed = Set(work.unsummed.map(\.id))
    for row in rows where !unsummed.contains(row.fields.id) {
      do throws(StoreError) {
        try visit(row, opener)
      } catch {
        try note(row.fields.id, error)
        unsummed.insert(row.fields.id)
      }
    }
    // They remain in the sum, so a row missed by an honest rekey counts as damage instead of a mismatch.
    for id in work.closed where !unsummed.contains(id) {
      sum.damaged.append(
        Verdict.Damage(
          id: DocumentID(id), reason: "document \(id) is under old keys, where only new ones can be"))
    }
    for (id, error) in work.damaged {
      guard !error.isTransient else { throw error }
      // Other errors, such as `otherFormat`, aren't damage.
      if error.code == .damaged { damaged.append(Verdict.Damage(id: DocumentID(id), reason: error.message)) }
    }
    identities.add(work.identities)
  }
}

/// A sum of rows, which decrypts the rows that a check requires.
private final class SummedRows: RowWork {
  private(set) var set = SetHash()
  /// The rows that aren't part of the sum.
  private(set) var unsummed: [(id: Int64, error: StoreError)] = []
  /// The rows that their epoch couldn't have sealed.
  private(set) var closed: [Int64] = []
  /// The rows that differ from the written rows.
  private(set) var damaged: [(id: Int64, error: StoreError)] = []
  private(set) var identities = IdentityCheck()
  private let opener: RecordOpener
  private let check: DocumentCheck?

  init(_ session: SessionKeys, _ check: DocumentCheck?) throws(StoreError) {
    opener = RecordOpener(try RowKeys(session))
    self.check = check
  }

  func begin() {
    set = SetHash()
    unsummed = []
    closed = []
    damaged = []
    identities.removeAll()
  }

  func end() {}

  func process(
    _ row: RecordRow, at index: Int, head: UnsafeMutableRawBufferPointer?, body: UnsafeMutableRawBufferPointer?
  ) -> Bool {
    do throws(StoreError) {
      let element = try opener.element(of: row)
      try translatingErrors { () throws(SealingError) in try opener.keys.summer.add(element, to: &set) }
    } catch {
      unsummed.append((row.fields.id, error))
      return true
    }
    guard (try? opener.requireBounds(row)) != nil else {
      closed.append(row.fields.id)
      return true
    }
    guard let check, row.fields.revision > check.generation else { return true }
    do throws(StoreError) {
      try check.open(row, with: opener, &identities, head: head, body: body)
    } catch {
      damaged.append((row.fields.id, error))
    }
    return true
  }
}
