internal import CofferSQLite
internal import CofferSealing

// The walk of a rekey over the rows, and its end.

/// Seals the rows below the target epoch anew, a batch in each transaction.
///
/// Rows are opened and sealed on another thread while this one reads the next and writes those before.
final class RekeyWalk {
  /// Sealed bytes after which a batch ends, so that large texts don't pile up in memory.
  private static let batchBytes = 24 << 20
  /// One is sealed while the other is filled and written.
  private static let resealingCount = 2

  private let store: DocumentStore
  private let limit: Int
  private var resealing: [ResealingBatch] = []

  init(_ store: DocumentStore, limit: Int) {
    self.store = store
    self.limit = limit
  }

  /// Seals the next rows, in one transaction with cursor and state.
  ///
  /// Same revision, position and parent; the look-up is computed anew, the title put where the store's mode says. A row
  /// that doesn't open, or whose clear title is longer than a head may be, is left and listed.
  ///
  /// - Returns: false when no row was left from the cursor on.
  func next(_ report: inout RekeyReport) throws(StoreError) -> Bool {
    try store.writing { transaction throws(StoreError) in
      guard transaction.state.target > 0 else { return false }
      guard transaction.state.target == transaction.keys.active.epoch else {
        throw .damagedStore("its rekey has another target than the active epoch")
      }
      var pass = Pass(transaction, report: report)
      try prepare(transaction)
      try run(&pass)
      guard let last = pass.last else { return false }
      try transaction.willWrite()
      transaction.state.cursor = UInt64(last) + 1
      try transaction.commit()
      report = pass.report
      return true
    }
  }

  /// The contexts of this transaction's keys; kept from batch to batch, so that all seals of a walk are one run.
  private func prepare(_ transaction: StoreTransaction) throws(StoreError) {
    let collections = try transaction.collections()
    if let first = resealing.first, first.belongs(to: transaction.keys.session) {
      for batch in resealing { batch.collections = collections }
      return
    }
    resealing = []
    for _ in 0..<Self.resealingCount {
      resealing.append(try ResealingBatch(transaction.keys.session, collections))
    }
  }

  private struct Statements {
    let content: StoreTransaction.RowStatements
    let all: StoreTransaction.RowStatements

    init(_ database: Database) throws(StoreError) {
      content = try StoreTransaction.RowStatements(database, changing: .content)
      all = try StoreTransaction.RowStatements(database, changing: .all)
    }
  }

  /// What one transaction has done so far.
  private struct Pass {
    let transaction: StoreTransaction
    let limits: RowLimits
    var report: RekeyReport
    /// The last row that was read, sound or not.
    var last: Int64?
    var byteCount = 0

    init(_ transaction: StoreTransaction, report: RekeyReport) {
      self.transaction = transaction
      self.report = report
      limits = transaction.state.limits
    }
  }

  private func run(_ pass: inout Pass) throws(StoreError) {
    let transaction = pass.transaction
    let statement = try storing { () throws(SQLiteError) in
      let statement = try transaction.database.statement(SQL.belowEpoch)
      try statement.bind(Int64(transaction.state.cursor), at: 1)
      try statement.bind(Int64(transaction.state.target), at: 2)
      try statement.bind(Int64(limit), at: 3)
      return statement
    }
    defer { statement.reset() }
    let statements = try Statements(transaction.database)
    var started: ResealingBatch?
    // Whatever happens here, the other thread is waited for: it works on what the next pass fills.
    defer { started?.finish() }
    var turn = 0
    var isOver = false
    while !isOver {
      let batch = resealing[turn]
      turn = (turn + 1) % resealing.count
      batch.removeAll()
      let large = try fill(batch, from: statement, &pass, isOver: &isOver)
      batch.start()
      let before = started
      started = batch
      if let before { try write(before, statements, &pass) }
      guard isOver || large != nil else { continue }
      started = nil
      try write(batch, statements, &pass)
      if let large {
        batch.removeAll()
        batch.reseal(large)
        try write(sealed: batch, statements, &pass)
      }
    }
  }

  /// Takes rows until the batch is full or the transaction long enough.
  ///
  /// - Returns: a row that no batch takes, still where SQLite has it.
  private func fill(_ batch: ResealingBatch, from statement: Statement, _ pass: inout Pass, isOver: inout Bool)
    throws(StoreError) -> RecordRow?
  {
    while batch.hasRoom {
      guard pass.byteCount < Self.batchBytes, try storing({ () throws(SQLiteError) in try statement.step() }) else {
        isOver = true
        return nil
      }
      let id = statement.int64(at: 0)
      pass.last = id
      do throws(StoreError) {
        let row = try RecordRow(statement, within: pass.limits)
        pass.byteCount += row.byteCount
        guard row.byteCount <= RowCopies.rowLimit else { return row }
        batch.append(row)
      } catch {
        guard error.code == .damaged else { throw error }
        pass.report.skip(id, error.message)
      }
    }
    return nil
  }

  private func write(_ batch: ResealingBatch, _ statements: Statements, _ pass: inout Pass)
    throws(StoreError)
  {
    batch.finish()
    try write(sealed: batch, statements, &pass)
  }

  private func write(
    sealed batch: ResealingBatch, _ statements: Statements, _ pass: inout Pass
  ) throws(StoreError) {
    if let failure = batch.failure { throw failure }
    for (id, reason) in batch.skipped { pass.report.skip(id, reason) }
    guard !batch.sealed.rows.isEmpty else { return }
    let transaction = pass.transaction
    try transaction.willWrite()
    for (row, old) in zip(batch.sealed.rows, batch.elements) {
      try storing { () throws(SQLiteError) in
        // Only a look-up is another under another epoch: without one, no index is touched.
        try (row.lookup == nil ? statements.content : statements.all).run(row, of: batch.sealed)
      }
      transaction.state.set.subtract(old)
      transaction.state.set.add(row.element)
      transaction.changes.reseal(old, as: row.element)
    }
    pass.report.documents += batch.sealed.rows.count
  }
}

extension DocumentStore {
  /// Ends a rekey: when no row is below the target and the rows are the set that was written, the old keys go.
  ///
  /// - Returns: false when rows were found behind the cursor, which now stands at the beginning again.
  func finishRekey(_ report: inout RekeyReport, mayRestart: Bool) throws(StoreError) -> Bool {
    try writing { transaction throws(StoreError) in
      let target = transaction.state.target
      guard target > 0 else {
        report.isFinished = true
        return true
      }
      let behind = try transaction.rowsBelow(target, except: Set(report.skipped.map(\.id.rawValue)))
      if behind && mayRestart {
        try transaction.willWrite()
        transaction.state.cursor = 0
        try transaction.commit()
        return false
      }
      let collections = try transaction.collections()
      for old in collections where old.epoch < target {
        var new = old
        new.epoch = target
        try transaction.replaceCollection(old, with: new)
      }
      let sum = try transaction.sumOfRows()
      report.setMatches =
        sum.isComplete && sum.set == transaction.state.set && UInt64(sum.count) == transaction.state.count
      guard !behind, report.skipped.isEmpty, report.setMatches else {
        // The old keys stay: what is left under them can still be read, and verify tells what is wrong.
        try transaction.commit()
        return true
      }
      try transaction.dropOldEpochs()
      report.isFinished = true
      return true
    }
  }
}

extension RekeyReport {
  fileprivate mutating func skip(_ id: Int64, _ reason: String) {
    guard !skipped.contains(where: { $0.id.rawValue == id }) else { return }
    skipped.append(DamagedDocument(id: DocumentID(id), reason: reason))
  }
}

extension StoreTransaction {
  /// Whether rows stand below an epoch, those that don't open aside; found by a scan of the table.
  func rowsBelow(_ epoch: UInt32, except skipped: Set<Int64>) throws(StoreError) -> Bool {
    let rows = try database.stored { database throws(SQLiteError) in
      try database.query(SQL.idsBelowEpoch, Int64(epoch), Int64(skipped.count + 1)).rows
    }
    return rows.contains { row in
      if case .integer(let id) = row[0] { !skipped.contains(id) } else { true }
    }
  }

  /// Seals the keyring without the old epochs, under the same root key, and commits.
  func dropOldEpochs() throws(StoreError) {
    let proved = try proveHeader()
    let root = proved.keys.root
    var header = proved.keys.header
    let keyring = Keyring(
      active: state.target, epochs: proved.keys.keyring.epochs.filter { $0.epoch == state.target })
    let nonces = keys.nonces
    header.keyring = try sealing { () throws(SealingError) in
      try keyring.seal(under: root, generation: header.rootGeneration, nonces: nonces)
    }
    header.mac = try header.authenticate(proved.slots, under: proved.keys.headerMACKey)
    state.target = 0
    state.cursor = 0
    try commit(try SessionKeys(root: root, header: header, slots: proved.slots), proved.slots)
  }
}
