internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// A check of the rows and chunks of attachments.
struct AttachmentCheck {
  private let transaction: StoreTransaction
  private(set) var damaged: [Verdict.DamagedAttachment] = []
  private(set) var problems: [String] = []
  /// The identities in the opened rows.
  private(set) var identities: [(uid: UniqueID, document: Int64)] = []
  /// The replicas, or `nil` if they can't be read, which is reported as a problem of the store.
  private let replicas: Replicas?

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
    replicas = try? transaction.replicas
  }

  /// Compares the chunks with the rows, and opens the contents that a check of documents asks for.
  ///
  /// - Throws: Errors that aren't findings: `systemFailure`, `locked`, `cancelled`.
  mutating func run(opening check: DocumentCheck?, _ progress: ProgressHandler?) throws(StoreError) {
    guard let next = transaction.nextAttachment else { return }
    var walk = AttachmentWalk(transaction.database, within: transaction.limits, next: next)
    let total = Int(clamping: transaction.state.attachmentCount)
    var done = 0
    do throws(StoreError) {
      // The row sum has already recorded out-of-bounds rows.
      try walk.forEach(refused: { _ in }) { row throws(StoreError) in
        try WorkProgress(done: done, total: max(done, total)).tell(
          progress, stopped: "verifying was stopped; nothing was changed")
        done += 1
        do throws(StoreError) {
          try self.check(row, opening: check)
        } catch {
          guard !error.isTransient else { throw error }
          damaged.append(
            Verdict.DamagedAttachment(
              id: Attachment.ID(rawValue: row.number), document: DocumentID(row.document), reason: error.message))
        }
      }
      try checkForeignChunks(below: next)
    } catch {
      guard !error.isTransient else { throw error }
      problems.append(error.message)
    }
  }

  private mutating func check(_ row: AttachmentRow, opening check: DocumentCheck?) throws(StoreError) {
    try transaction.requireOpen()
    let record = try AttachmentRecord(row, transaction.keys)
    identities.append((record.uid, record.document))
    let counter = transaction.state.counter
    if let replicas, check != nil,
      ![record.born, record.nameDot].allSatisfy({ replicas.covers($0, ownCounter: counter) })
    {
      throw .damagedAttachment(record.number, "it names a change that the store doesn't include")
    }
    if try transaction.database.integer(SQL.hasDocument, record.document) == nil {
      problems.append("attachment \(record.number) belongs to document \(record.document), which is gone")
    }
    try requireChunks(of: record)
    guard let check, row.revision > check.generation else { return }
    try AttachmentChunks(record, transaction.keys).forEachChunk(from: transaction.database) { _ throws(StoreError) in
      try transaction.requireOpen()
    }
  }

  /// Requires as many chunks as the row implies, each of its length.
  private func requireChunks(of record: AttachmentRecord) throws(StoreError) {
    let (numbers, layout) = (AttachmentChunks.rows(of: record.number), record.chunks)
    let last = AttachmentChunks.row(of: layout.count - 1, in: record.number)
    let overhead = XAESKey.overhead
    let counts = try transaction.database.rows(
      SQL.chunkCounts, numbers.lowerBound, numbers.upperBound, last, Int64(overhead + layout.chunkSize),
      Int64(overhead + layout.length(of: layout.count - 1)))
    let expected = Int64(layout.count)
    guard counts[0][0] == .integer(expected), counts[0][1] == .integer(expected) else {
      throw .damagedAttachment(record.number, "chunks are missing, too many or of another length")
    }
  }

  /// Records chunks whose attachment can't have existed. Chunks of former attachments may remain.
  private mutating func checkForeignChunks(below next: UInt64) throws(StoreError) {
    func isForeign(_ chunk: Int64) -> Bool {
      let number = AttachmentChunks.attachment(ofRow: chunk)
      return number < 1 || UInt64(number) >= next
    }
    let ends = [
      try transaction.database.integer(SQL.lowestChunk), try transaction.database.integer(SQL.highestChunk),
    ]
    for chunk in Set(ends.compactMap { $0 }).filter(isForeign).sorted() {
      problems.append("chunk \(chunk) belongs to no attachment")
    }
  }
}
