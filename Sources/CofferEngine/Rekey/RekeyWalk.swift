internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// Seals the rows below the target epoch under the new keys, with one batch per transaction.
///
/// Another thread opens and seals rows while this thread reads the next rows and writes earlier rows.
final class RekeyWalk {
  /// The number of sealed bytes that ends a transaction, to limit memory use with large texts.
  private static let transactionBytes = 24 << 20
  /// One batch is sealed while the other is filled and written.
  private static let batchCount = 2

  private let store: StoreEngine
  private let limit: Int
  private var batches: [RowBatch<ResealedRows>] = []

  init(_ store: StoreEngine, limit: Int) {
    self.store = store
    self.limit = limit
  }

  /// Seals the next rows, and updates the cursor and state in the same transaction.
  ///
  /// Keeps the revision, position and parent, recomputes the blind index, and moves the title according to the store's
  /// mode. Rows that can't be opened are unchanged and listed in the report.
  ///
  /// - Returns: `false` if all rows are sealed.
  func next(_ report: inout RekeyReport) throws(StoreError) -> Bool {
    try store.writing { transaction throws(StoreError) in
      guard transaction.state.target > 0 else { return false }
      guard transaction.state.target == transaction.keys.active.epoch else {
        throw .damagedStore("its rekey has another target than the active epoch")
      }
      var pass = Pass(transaction, report: report)
      try run(&pass)
      guard let last = pass.last else { return false }
      let writer = try transaction.writer
      try writer.willWrite()
      writer.state.cursor = UInt64(last) + 1
      try transaction.commit()
      report = pass.report
      return true
    }
  }

  /// The current transaction's progress.
  private struct Pass {
    let transaction: StoreTransaction
    let limits: RowLimits
    var report: RekeyReport
    /// The last row that was read, even if it's damaged.
    var last: Int64?
    var byteCount = 0

    init(_ transaction: StoreTransaction, report: RekeyReport) {
      self.transaction = transaction
      self.report = report
      limits = transaction.limits
    }
  }

  private func run(_ pass: inout Pass) throws(StoreError) {
    let transaction = pass.transaction
    let state = transaction.state
    let statement = try transaction.database.statement(
      SQL.belowEpoch, Int64(state.cursor), Int64(state.target), Int64(limit))
    defer { statement.reset() }
    var free = try preparedBatches(transaction)
    let conveyor = Conveyor<RowBatch<ResealedRows>>(limit: Self.batchCount, workers: .any) { $0.process() }
    try conveyor.run(
      make: { () throws(StoreError) in free.removeLast() },
      fill: { batch throws(StoreError) in
        let filling = batch.fill { () throws(StoreError) in try next(statement, &pass) }
        // Throw before writing the batches in progress, because the error may have ended the transaction.
        if case .failed(let error) = batch.tail { throw error }
        return filling
      },
      take: { batch throws(StoreError) in
        try batch.takeRows { work, _ throws(StoreError) in try write(work, &pass) }
      })
  }

  private func preparedBatches(_ transaction: StoreTransaction) throws(StoreError) -> [RowBatch<ResealedRows>] {
    let collections = try transaction.collections()
    let session = transaction.keys.session
    if batches.isEmpty || !batches[0].work.belongs(to: session) {
      batches = []
      for _ in 0..<Self.batchCount { batches.append(RowBatch(try ResealedRows(session, collections))) }
    }
    for batch in batches {
      batch.work.collections = collections
      batch.work.beginRun(transaction.connection.nonceSource)
    }
    return batches
  }

  /// Returns the next readable row, or `nil` if the transaction is long enough or the rows end.
  private func next(_ statement: StoreStatement, _ pass: inout Pass) throws(StoreError) -> RecordRow? {
    while pass.byteCount < Self.transactionBytes, try statement.step() {
      let id = statement.int64(at: 0)
      do throws(StoreError) {
        // The pages of a malicious file can lead to any row again, but the cursor never moves back.
        guard id > pass.last ?? Int64(pass.limits.cursor) - 1, UInt64(id) < pass.limits.bound else {
          throw .damagedDocument(id, "it is not in its order")
        }
        pass.last = id
        let row = try RecordRow(statement.columns(), within: pass.limits)
        pass.byteCount += row.byteCount
        return row
      } catch {
        guard error.code == .damaged else { throw error }
        pass.report.skip(id, error.message)
      }
    }
    return nil
  }

  private func write(_ rows: ResealedRows, _ pass: inout Pass) throws(StoreError) {
    if let failure = rows.failure { throw failure }
    for (id, reason) in rows.skipped { pass.report.skip(id, reason) }
    guard !rows.sealed.rows.isEmpty else { return }
    let writer = try pass.transaction.writer
    try writer.willWrite()
    var index = 0
    try writer.replace(
      rows.former, with: rows.sealed,
      changing: { row in
        defer { index += 1 }
        // SQLite's indexes need an update only if the blind index changes, or if the title mode moves the title.
        var columns: RecordColumns = []
        if row.blindIndex != nil { columns.insert(.blindIndex) }
        if rows.hadTitle[index] != (row.title != nil) { columns.insert(.title) }
        return columns
      }, as: [])
    pass.report.documents += rows.sealed.rows.count
  }
}

extension StoreEngine {
  /// Ends a rekey by deleting the old keys, if all rows are under the target epoch and match the written set.
  func finishRekey(_ report: inout RekeyReport) throws(StoreError) {
    try writing { transaction throws(StoreError) in
      let target = transaction.state.target
      guard target > 0 else {
        report.isFinished = true
        return
      }
      for id in try rowsBelow(target, in: transaction) {
        report.skip(id, "document \(id) is under old keys although the rekey has passed it")
      }
      try transaction.forEachAttachmentRow { row throws(StoreError) in
        if try AttachmentRecord(row, transaction.keys).needsSealing(under: target) {
          report.skip(row, "attachment \(row.number) is under old keys although the rekey has passed it")
        }
      }
      let sum = try transaction.sumOfRows()
      report.setMatches = transaction.isWhole(sum)
      // Otherwise, keep the old keys so the remaining rows can be read. `verify` reports the problem.
      guard report.skippedDocuments == 0, report.setMatches else { return }
      try dropOldEpochs(transaction)
      report.isFinished = true
    }
  }

  /// Returns the IDs of at most 1,000 rows below an epoch, found by scanning the table.
  private func rowsBelow(_ epoch: UInt32, in transaction: StoreTransaction) throws(StoreError) -> [Int64] {
    try transaction.database.rows(SQL.idsBelowEpoch, Int64(epoch), Int64(1000)).compactMap { row in
      if case .integer(let id) = row[0] { id } else { nil }
    }
  }

  /// Drops the old epochs from the keyring and commits.
  private func dropOldEpochs(_ transaction: StoreTransaction) throws(StoreError) {
    let proved = try transaction.proveHeader()
    let writer = try transaction.writer
    let target = writer.state.target
    let keyring = Keyring(
      active: target, family: proved.keys.keyring.family,
      epochs: proved.keys.keyring.epochs.filter { $0.epoch == target })
    writer.state.target = 0
    writer.state.cursor = 0
    try transaction.commitNextPhase(proved.keys, proved.slots, keyring: keyring)
  }
}

extension RekeyReport {
  mutating func skip(_ id: Int64, _ reason: String) {
    let id = DocumentID(id)
    guard skippedIDs.documents.insert(id).inserted else { return }
    skipped.append(Verdict.Damage(id: id, reason: reason))
  }

  mutating func skip(_ row: AttachmentRow, _ reason: String) {
    let id = Attachment.ID(rawValue: row.number)
    guard skippedIDs.attachments.insert(id).inserted else { return }
    skippedAttachments.append(
      Verdict.DamagedAttachment(id: id, document: DocumentID(row.document), reason: reason))
  }

  /// The number of documents that are skipped or have a skipped attachment.
  var skippedDocuments: Int { Set(skipped.map(\.id) + skippedAttachments.map(\.document)).count }
}
