internal import CofferSQLite
internal import CofferSealing

// The walk of a rekey over the rows, and its end.

extension DocumentStore {
  /// Sealed bytes after which a batch ends, so that large texts don't pile up in memory.
  private static let batchBytes = 8 << 20

  /// Seals the next rows below the target epoch anew, in one transaction with cursor and state.
  ///
  /// Same revision, position and parent; the look-up is computed anew, the title put where the store's mode says. A row
  /// that doesn't open, or whose clear title is longer than a head may be, is left and listed.
  ///
  /// - Returns: false when no row was left from the cursor on.
  func reencryptBatch(_ limit: Int, _ report: inout RekeyReport) throws(StoreError) -> Bool {
    try writing { transaction throws(StoreError) in
      let connection = transaction.connection
      guard transaction.state.target > 0 else { return false }
      guard transaction.state.target == connection.keys.active.epoch else {
        throw .damagedStore("its rekey has another target than the active epoch")
      }
      defer { connection.batch.removeAll() }
      let found = try sealNext(limit, transaction, &report)
      guard found.seen > 0 else { return false }
      try transaction.willWrite()
      let statements = try StoreTransaction.RowStatements(transaction.database, inserting: false)
      for (row, old) in zip(connection.batch.rows, found.old) {
        try storing { () throws(SQLiteError) in try statements.run(row, of: connection.batch) }
        transaction.state.set.subtract(old)
        transaction.state.set.add(row.element)
      }
      transaction.state.cursor = UInt64(found.last) + 1
      try transaction.commit()
      report.documents += connection.batch.rows.count
      return true
    }
  }

  /// What one pass over the next rows found.
  private struct Found {
    /// The set hash's elements of the rows as they stand in the file.
    var old: [SetHash] = []
    var seen = 0
    var last: Int64 = 0
  }

  /// Opens and seals rows into the connection's batch; changes nothing in the file.
  private func sealNext(_ limit: Int, _ transaction: StoreTransaction, _ report: inout RekeyReport) throws(StoreError)
    -> Found
  {
    let connection = transaction.connection
    let state = transaction.state
    let statement = try storing { () throws(SQLiteError) in
      let statement = try transaction.database.statement(SQL.belowEpoch)
      try statement.bind(Int64(state.cursor), at: 1)
      try statement.bind(Int64(state.target), at: 2)
      try statement.bind(Int64(limit), at: 3)
      return statement
    }
    defer { statement.reset() }
    var found = Found()
    while connection.batch.byteCount < Self.batchBytes, try storing({ () throws(SQLiteError) in try statement.step() })
    {
      found.seen += 1
      found.last = statement.int64(at: 0)
      do throws(StoreError) {
        let row = try RecordRow(statement, within: state.limits)
        let head = try connection.opener.openHead(row)
        let text = try connection.opener.openBody(row, head)
        let element = try connection.opener.element(of: row)
        var fields = row.fields
        fields.epoch = state.target
        let content = RecordSealer.Content(
          title: head.title, key: head.key, lookup: try transaction.lookup(of: head.key, in: fields.collection),
          attributes: head.attributes, created: head.created, modified: head.modified)
        try connection.sealer.seal(fields, content, text: text, into: connection.batch)
        found.old.append(element)
      } catch {
        guard error.code == .damaged || error.code == .tooLarge else { throw error }
        report.skip(found.last, error.message)
      }
    }
    return found
  }

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
      let sum = transaction.sumOfRows()
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
