internal import CofferRecords
internal import CofferSealing

/// Work on opened documents before their visits, done by the threads that open them. One thread at a time uses it.
package protocol DocumentPreparation: AnyObject {
  /// Prepares the documents of a batch, whose attachments aren't counted.
  func prepare(_ count: Int, _ document: (Int) -> OpenedDocument)

  /// Drops the results, before a batch and after the last visit.
  func removeAll()
}

/// The work that a long read does for each row.
package struct RowScan {
  package typealias Visit = (DocumentHeader, UnsafeRawBufferPointer) throws -> Void

  var withTexts: Bool
  /// The search that limits the visited documents, if any.
  var search: (pattern: SearchPattern, fields: SearchPattern.Fields)?
  /// Documents that are visited even if the search doesn't find them.
  package var alsoVisited: Set<Int64> = []
  /// Called periodically with the number of rows passed since the last call. The scan ends if it throws.
  package var progress: ((Int) throws -> Void)?
  /// Called before each visit with the row's fields.
  var noteFields: ((RowFields) -> Void)?
  /// Makes the preparation of a batch of documents. Documents that the visiting thread opens aren't prepared.
  package var makePreparation: (() -> any DocumentPreparation)?
  /// Called before the visit of a prepared document with its index in the preparation.
  package var notePrepared: ((any DocumentPreparation, Int) -> Void)?
  /// Called before each visit with the row's marks.
  package var noteMarks: ((RowMarks) -> Void)?
  /// Whether a writer doesn't change rows during its scan, so other threads can help.
  package var leavesRowsUnchanged = false
  /// Whether the statement returns all remaining rows of a collection, so the scan compares the store's row count after
  /// the last row.
  package var isWhole = false
  /// Whether the visited headers carry the number and bytes of their attachments.
  package var countsAttachments = false
  /// Sums the visited rows, to compare them with the state's set hash.
  package var proof: SetProof?

  package init(
    withTexts: Bool, search: (pattern: SearchPattern, fields: SearchPattern.Fields)? = nil,
    noteFields: ((RowFields) -> Void)? = nil
  ) {
    self.withTexts = withTexts
    self.search = search
    self.noteFields = noteFields
  }

  /// Returns a matcher for a single thread.
  func matcher() -> DocumentMatcher? {
    search.map { DocumentMatcher($0.pattern, in: $0.fields) }
  }
}

// Long reads. This thread steps through the rows and visits opened rows, while other threads open the following rows.

extension StoreTransaction {
  /// The number of rows read before other threads help, which isn't worthwhile for one page of a list.
  private static let alone = 64
  /// The maximum number of batches, with one per core to open and two to fill and visit. One reading thread can't keep
  /// more than four cores busy.
  private static let batchCount = min(coreCount, 4) + 2

  /// Scans a collection in order, from the beginning or after a document.
  ///
  /// - Parameter isWhole: Whether to compare the store's row count after the last row.
  package func scan(
    _ record: CollectionRecord, after previous: DocumentHeader? = nil, isWhole: Bool = true, _ scan: RowScan,
    _ visit: RowScan.Visit
  ) throws {
    let number = Int64(record.id)
    let statement =
      if let previous {
        try database.statement(SQL.pageAfterWithBody, in: record.id, at: previous.position, previous.id.rawValue)
      } else {
        try database.statement(scan.withTexts ? SQL.inOrderWithBody : SQL.inOrder, number)
      }
    var scan = scan
    scan.isWhole = isWhole
    try self.scan(statement, OrderCheck(collection: record.id, after: previous, limit: state.count), scan, visit)
  }

  /// Steps through a bound statement and resets it. Each row is verified before it's visited.
  ///
  /// - Throws: Errors from `visit`, or `damaged` at the first damaged row, after visiting all rows before it.
  package func scan(_ statement: StoreStatement, _ order: OrderCheck, _ scan: RowScan, _ visit: RowScan.Visit) throws {
    defer { statement.reset() }
    var order = order
    // Don't read ahead if the writer may change rows during the scan.
    let limit = isWriter && !scan.leavesRowsUnchanged ? Int.max : Self.alone
    if try scanAlone(statement, &order, rows: limit, scan, visit) { try scanAhead(statement, &order, scan, visit) }
    if scan.isWhole { try requireCount() }
  }

  /// Scans rows on this thread, and returns whether there may be more.
  private func scanAlone(
    _ statement: StoreStatement, _ order: inout OrderCheck, rows: Int, _ scan: RowScan, _ visit: RowScan.Visit
  ) throws -> Bool {
    let reader = connection.takeReader()
    defer { connection.giveBack(reader) }
    let matcher = scan.matcher()
    let limits = self.limits
    for passed in 0..<rows {
      try requireOpen()
      guard try statement.step() else {
        try scan.progress?(passed % Self.alone)
        return false
      }
      try self.visit(try row(statement, within: limits), reader.opener, &order, scan, matcher, visit)
      if (passed + 1) % Self.alone == 0 { try scan.progress?(Self.alone) }
    }
    return true
  }

  private func visit(
    _ row: RecordRow, _ opener: RecordOpener, _ order: inout OrderCheck, _ scan: RowScan, _ matcher: DocumentMatcher?,
    _ visit: RowScan.Visit
  ) throws {
    let position = DocumentPosition(verified: row.position)
    if hasWritten, order.isRepeated(row.fields, at: position) { return }
    let marks = scan.noteMarks == nil ? nil : try RowMarks(row, opener)
    try scan.proof?.add(row, opener)
    let head = try opener.openHead(row)
    try order.check(row.fields, at: position, isWriting: hasWritten)
    let text = scan.withTexts ? try opener.openBody(row, head) : UnsafeRawBufferPointer(start: nil, count: 0)
    guard
      matcher?.matches(head, text, isValue: row.fields.isJSON) != false || scan.alsoVisited.contains(row.fields.id)
    else { return }
    scan.noteFields?(row.fields)
    if let marks { scan.noteMarks?(marks) }
    let header = DocumentHeader(row, head)
    try visit(scan.countsAttachments ? counted(header) : header, text)
  }

  private func scanAhead(
    _ statement: StoreStatement, _ order: inout OrderCheck, _ scan: RowScan, _ visit: RowScan.Visit
  ) throws {
    let limits = self.limits
    let reader = connection.takeReader()
    var batches: [RowBatch<OpenedRows>] = []
    let conveyor = Conveyor<RowBatch<OpenedRows>>(limit: Self.batchCount, workers: .any) { $0.process() }
    defer {
      for batch in batches { connection.giveBack(batch) }
      connection.giveBack(reader)
    }
    try conveyor.run(
      make: {
        let batch = try connection.takeBatch()
        batch.work.prepare(scan)
        batches.append(batch)
        return batch
      },
      fill: { batch in
        try requireOpen()
        return batch.fill { () throws(StoreError) in
          try statement.step() ? try RecordRow(statement.columns(), within: limits) : nil
        }
      },
      take: { batch in
        try requireOpen()
        try self.visit(batch, &order, scan, visit)
        switch batch.tail {
        case .nothing: break
        case .large(let row):
          try self.visit(row, reader.opener, &order, scan, scan.matcher(), visit)
          try scan.progress?(1)
        case .failed(let error): throw error
        }
      })
  }

  private func visit(
    _ batch: RowBatch<OpenedRows>, _ order: inout OrderCheck, _ scan: RowScan, _ visit: RowScan.Visit
  ) throws {
    let opened = batch.work.opened
    var next = opened.startIndex
    for index in 0..<batch.work.verifiedCount {
      let position = DocumentPosition(verified: batch.rows[index].position)
      try order.check(batch.rows[index].fields, at: position, isWriting: hasWritten)
      guard next < opened.endIndex else { continue }
      guard opened[next].row == index else { continue }
      // The previous visit may have taken long.
      try requireOpen()
      scan.noteFields?(batch.rows[index].fields)
      if let marks = opened[next].marks { scan.noteMarks?(marks) }
      if let preparation = batch.work.preparation { scan.notePrepared?(preparation, next) }
      let header = opened[next].header
      try visit(scan.countsAttachments ? counted(header) : header, opened[next].text)
      next += 1
    }
    if let failure = batch.work.failure { throw failure }
    if let sum = batch.work.sum { scan.proof?.add(sum, count: batch.work.verifiedCount) }
    try scan.progress?(batch.rows.count)
  }
}
