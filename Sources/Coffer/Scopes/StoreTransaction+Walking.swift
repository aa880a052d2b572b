internal import CofferSQLite
internal import CofferSealing

#if canImport(Glibc)
  internal import Glibc
#endif

/// What a long read does with each row.
struct Walk {
  typealias Visit = (DocumentHeader, UnsafeRawBufferPointer) throws -> Void

  var withTexts: Bool
  /// Hands out the documents that hold a pattern only.
  var search: (pattern: SearchPattern, fields: SearchFields)?
  /// Told from time to time how many more rows are behind the walk; what it throws ends it.
  var progress: ((Int) throws -> Void)?

  /// For one thread.
  func matcher() -> DocumentMatcher? {
    search.map { DocumentMatcher($0.pattern, in: $0.fields) }
  }
}

// Long reads: this thread steps through the rows and hands out what is open, others open the next ones meanwhile.

extension StoreTransaction {
  /// So many rows are read on one thread before others are thought worth it: a page of a list never is.
  private static let alone = 64
  /// One batch for each core to open and one to fill; one thread's reading keeps no more than four of them busy.
  private static let batchCount = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 4) + 2

  /// Steps through a bound statement to its end, each row proved before `visit` sees it; resets it.
  ///
  /// - Throws: what `visit` throws; `damaged` at the first row that is, after all before it were visited.
  func walk(_ statement: Statement, _ order: OrderCheck, _ walk: Walk, _ visit: Walk.Visit) throws {
    defer { statement.reset() }
    var order = order
    // What a writer changes on its way must not have been read before.
    let limit = isWriter ? Int.max : Self.alone
    guard try walkAlone(statement, &order, rows: limit, walk, visit) else { return }
    try walkAhead(statement, &order, walk, visit)
  }

  /// - Returns: whether there may be more rows.
  private func walkAlone(
    _ statement: Statement, _ order: inout OrderCheck, rows: Int, _ walk: Walk, _ visit: Walk.Visit
  ) throws -> Bool {
    let opener = connection.takeOpener()
    defer { connection.giveBack(opener) }
    let matcher = walk.matcher()
    let limits = state.limits
    for passed in 0..<rows {
      try requireOpen()
      guard try storing({ () throws(SQLiteError) in try statement.step() }) else {
        try walk.progress?(passed % Self.alone)
        return false
      }
      try self.visit(try row(statement, within: limits), opener, &order, walk, matcher, visit)
      if (passed + 1) % Self.alone == 0 { try walk.progress?(Self.alone) }
    }
    return true
  }

  private func visit(
    _ row: RecordRow, _ opener: RecordOpener, _ order: inout OrderCheck, _ walk: Walk, _ matcher: DocumentMatcher?,
    _ visit: Walk.Visit
  ) throws {
    let head = try opener.openHead(row)
    try order.check(row.fields, isWriting: hasWritten)
    let text = walk.withTexts ? try opener.openBody(row, head) : UnsafeRawBufferPointer(start: nil, count: 0)
    guard matcher?.matches(head, text) != false else { return }
    try visit(DocumentHeader(row, head), text)
  }

  private func walkAhead(
    _ statement: Statement, _ order: inout OrderCheck, _ walk: Walk, _ visit: Walk.Visit
  ) throws {
    var free: [OpeningBatch] = []
    /// Those that other threads may be at work on, the oldest first.
    var started: [OpeningBatch] = []
    defer {
      // Whatever happened here, other threads are waited for: they work on what this one gives back.
      for batch in started { batch.abandon() }
      for batch in started + free { connection.giveBack(batch) }
    }
    var rest = Rest.more
    while true {
      try requireOpen()
      if started.first?.isOpened != true {
        if rest.isMore, started.count < Self.batchCount {
          let batch = try free.popLast() ?? takeBatch(for: walk)
          started.append(batch)
          rest = fill(batch, from: statement)
          batch.start()
          continue
        }
        // The other threads are behind, or none is free.
        if started.contains(where: { $0.openHere() }) { continue }
      }
      if !started.isEmpty {
        let batch = started.removeFirst()
        free.append(batch)
        batch.finish()
        try handOut(batch, &order, walk, visit)
        continue
      }
      switch rest {
      case .more: preconditionFailure("internal error: rows are left, and no batch takes them")
      case .end: return
      case .failed(let error): throw error
      case .large(let row):
        let opener = connection.takeOpener()
        defer { connection.giveBack(opener) }
        try self.visit(row, opener, &order, walk, walk.matcher(), visit)
        try walk.progress?(1)
        rest = .more
      }
    }
  }

  private func takeBatch(for walk: Walk) throws(StoreError) -> OpeningBatch {
    let batch = try connection.takeBatch()
    batch.prepare(walk)
    return batch
  }

  /// What stands behind a batch's last row.
  private enum Rest {
    case more
    case end
    /// A row that no batch takes, still where SQLite has it.
    case large(RecordRow)
    case failed(StoreError)

    var isMore: Bool { if case .more = self { true } else { false } }
  }

  private func fill(_ batch: OpeningBatch, from statement: Statement) -> Rest {
    batch.removeAll()
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

  private func handOut(
    _ batch: OpeningBatch, _ order: inout OrderCheck, _ walk: Walk, _ visit: Walk.Visit
  ) throws {
    var next = batch.opened.startIndex
    for index in 0..<batch.provedCount {
      try order.check(batch.rows[index].fields, isWriting: hasWritten)
      guard next < batch.opened.endIndex, batch.opened[next].row == index else { continue }
      try visit(batch.opened[next].header, batch.opened[next].text)
      next += 1
    }
    if let failure = batch.failure { throw failure }
    try walk.progress?(batch.rows.count)
  }
}
