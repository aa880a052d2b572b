internal import CofferSQLite
internal import CofferSealing

// Long reads: this thread steps through the rows and hands out what is open, another opens the next ones meanwhile.

extension StoreTransaction {
  /// So many rows are read on one thread before a second one is thought worth it: a page of a list never is.
  private static let alone = 64
  /// One batch is opened while the other is filled and handed out.
  private static let batchCount = 2

  typealias Visit = (DocumentHeader, UnsafeRawBufferPointer) throws -> Void

  /// Steps through a bound statement to its end, each row proved before `visit` sees it; resets it.
  ///
  /// - Throws: what `visit` throws; `damaged` at the first row that is, after all before it were visited.
  func walk(_ statement: Statement, _ order: OrderCheck, withTexts: Bool, _ visit: Visit) throws {
    defer { statement.reset() }
    var order = order
    // What a writer changes on its way must not have been read before.
    let limit = isWriter ? Int.max : Self.alone
    guard try walkAlone(statement, &order, rows: limit, withTexts: withTexts, visit) else { return }
    try walkAhead(statement, &order, withTexts: withTexts, visit)
  }

  /// - Returns: whether there may be more rows.
  private func walkAlone(
    _ statement: Statement, _ order: inout OrderCheck, rows: Int, withTexts: Bool, _ visit: Visit
  ) throws -> Bool {
    let opener = connection.takeOpener()
    defer { connection.giveBack(opener) }
    let limits = state.limits
    for _ in 0..<rows {
      guard try storing({ () throws(SQLiteError) in try statement.step() }) else { return false }
      try self.visit(try row(statement, within: limits), opener, &order, withTexts: withTexts, visit)
    }
    return true
  }

  private func visit(
    _ row: RecordRow, _ opener: RecordOpener, _ order: inout OrderCheck, withTexts: Bool, _ visit: Visit
  ) throws {
    let head = try opener.openHead(row)
    try order.check(row.fields, isWriting: hasWritten)
    let text = withTexts ? try opener.openBody(row, head) : UnsafeRawBufferPointer(start: nil, count: 0)
    try visit(DocumentHeader(row, head), text)
  }

  private func walkAhead(_ statement: Statement, _ order: inout OrderCheck, withTexts: Bool, _ visit: Visit) throws {
    var batches: [OpeningBatch] = []
    defer { for batch in batches { connection.giveBack(batch) } }
    for _ in 0..<Self.batchCount { batches.append(try connection.takeBatch()) }
    var started: OpeningBatch?
    // Whatever happens here, the other thread is waited for: it works on what this one gives back.
    defer { started?.finish() }
    var turn = 0
    while true {
      let batch = batches[turn]
      turn = (turn + 1) % batches.count
      batch.removeAll()
      let rest = fill(batch, from: statement)
      batch.start(withTexts: withTexts)
      let before = started
      started = batch
      if let before { try handOut(before, &order, visit) }
      if case .more = rest { continue }
      started = nil
      try handOut(batch, &order, visit)
      switch rest {
      case .more, .end: return
      case .failed(let error): throw error
      case .large(let row):
        let opener = connection.takeOpener()
        defer { connection.giveBack(opener) }
        try self.visit(row, opener, &order, withTexts: withTexts, visit)
      }
    }
  }

  /// What stands behind a batch's last row.
  private enum Rest {
    case more
    case end
    /// A row that no batch takes, still where SQLite has it.
    case large(RecordRow)
    case failed(StoreError)
  }

  private func fill(_ batch: OpeningBatch, from statement: Statement) -> Rest {
    let limits = state.limits
    do throws(StoreError) {
      repeat {
        guard try storing({ () throws(SQLiteError) in try statement.step() }) else { return .end }
        let row = try RecordRow(statement, within: limits)
        guard row.byteCount <= RowCopies.rowLimit else { return .large(row) }
        batch.append(row)
      } while batch.hasRoom
      return .more
    } catch {
      return .failed(error)
    }
  }

  private func handOut(_ batch: OpeningBatch, _ order: inout OrderCheck, _ visit: Visit) throws {
    batch.finish()
    for (row, opened) in zip(batch.rows, batch.opened) {
      try order.check(row.fields, isWriting: hasWritten)
      try visit(opened.header, opened.text)
    }
    if let failure = batch.failure { throw failure }
  }
}
