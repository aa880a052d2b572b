internal import CofferRecords
internal import CofferSealing

#if canImport(Glibc)
  internal import Glibc
#endif

/// The work of a long read on each row.
struct RowScan {
  typealias Visit = (DocumentHeader, UnsafeRawBufferPointer) throws -> Void

  var withTexts: Bool
  /// Visits only documents that match.
  var search: (pattern: SearchPattern, fields: SearchFields)?
  /// Called from time to time with the number of further rows passed; if it throws, the scan ends.
  var progress: ((Int) throws -> Void)?
  /// Called before each visit with the row's fields.
  var noteFields: ((RowFields) -> Void)?
  /// Called before each visit with the marks of the row.
  var noteMarks: ((RowMarks) -> Void)?
  /// A writer's own walk, during which it changes no row: other threads may help.
  var changesNoRows = false

  /// For one thread.
  func matcher() -> DocumentMatcher? {
    search.map { DocumentMatcher($0.pattern, in: $0.fields) }
  }
}

// Long reads: this thread steps through the rows and visits opened ones; other threads open the next ones meanwhile.

extension StoreTransaction {
  /// Rows read on one thread before others help: a page of a list is never worth their help.
  private static let alone = 64
  /// One batch for each core to open and one to fill; one reading thread keeps no more than four cores busy.
  private static let batchCount = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 4) + 2

  /// A collection in order: all of it, or what is behind a document.
  func scan(
    _ record: CollectionRecord, after previous: DocumentHeader? = nil, _ scan: RowScan, _ visit: RowScan.Visit
  ) throws {
    let number = Int64(record.id)
    let statement =
      if let previous {
        try database.statement(SQL.pageAfterWithBody, number, previous.position, previous.id.rawValue)
      } else {
        try database.statement(scan.withTexts ? SQL.inOrderWithBody : SQL.inOrder, number)
      }
    try self.scan(statement, OrderCheck(collection: record.id, after: previous, limit: state.count), scan, visit)
  }

  /// Steps through a bound statement to its end and resets it; each row is verified before `visit` sees it.
  ///
  /// - Throws: errors of `visit`; `damaged` at the first damaged row, after `visit` saw all rows before it.
  func scan(_ statement: StoreStatement, _ order: OrderCheck, _ scan: RowScan, _ visit: RowScan.Visit) throws {
    defer { statement.reset() }
    var order = order
    // A writer may change rows during its walk: they must not have been read ahead.
    let limit = isWriter && !scan.changesNoRows ? Int.max : Self.alone
    guard try scanAlone(statement, &order, rows: limit, scan, visit) else { return }
    try scanAhead(statement, &order, scan, visit)
  }

  /// - Returns: whether there may be more rows.
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
    let marks = scan.noteMarks == nil ? nil : try RowMarks(row, opener)
    let head = try opener.openHead(row)
    try order.check(row.fields, isWriting: hasWritten)
    let text = scan.withTexts ? try opener.openBody(row, head) : UnsafeRawBufferPointer(start: nil, count: 0)
    guard matcher?.matches(head, text, isValue: row.fields.isJSON) != false else { return }
    scan.noteFields?(row.fields)
    if let marks { scan.noteMarks?(marks) }
    try visit(DocumentHeader(row, head), text)
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
    for index in 0..<batch.work.provedCount {
      try order.check(batch.rows[index].fields, isWriting: hasWritten)
      guard next < opened.endIndex else { continue }
      let document = opened[next]
      guard document.row == index else { continue }
      // The visit before may have taken long.
      try requireOpen()
      scan.noteFields?(batch.rows[index].fields)
      if let marks = document.marks { scan.noteMarks?(marks) }
      try visit(document.header, document.text)
      next += 1
    }
    if let failure = batch.work.failure { throw failure }
    try scan.progress?(batch.rows.count)
  }
}
