internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferText

/// A cursor over the view's rows.
final class DocumentRows: VirtualRows {
  enum Source {
    case document(DocumentID)
    /// The documents with a key in these collections.
    case key(DocumentKey, [CollectionRecord])
    /// An ID range, sorted by ID and limited to some collections unless the set is `nil`.
    case ids(Range<Int64>, isDescending: Bool, Set<UInt32>?)
    /// Collections sorted by number, with their rows in order.
    case collections([CollectionRecord])
    /// The row counts per collection. A counted row contains only its collection's name.
    case counted([(CollectionRecord, Int)])
  }

  private let table: DocumentTable
  private let transaction: StoreTransaction
  private let reader: RecordReader
  private let withTexts: Bool
  private var source: Source
  private var statement: StoreStatement?
  private var order: OrderCheck?
  private var lastID: Int64?
  /// Whether the rows are entire collections, so the store's row count is compared after the last row.
  private let isWhole: Bool
  private let document: DocumentValues
  private(set) var repeatCount: Int64 = 0
  private(set) var repeatedText: VirtualText?

  init(_ table: DocumentTable, _ transaction: StoreTransaction, _ source: Source, withTexts: Bool) {
    self.table = table
    self.transaction = transaction
    self.withTexts = withTexts
    reader = transaction.connection.takeReader()
    document = DocumentValues(table, transaction, reader)
    isWhole =
      switch source {
      case .collections, .counted: true
      case .ids(let ids, _, _): ids.lowerBound <= 1 && ids.upperBound >= Int64(clamping: transaction.state.bound)
      case .document, .key: false
      }
    // Reverse the lists, because elements are taken from the end.
    self.source =
      switch source {
      case .key(let key, let records): .key(key, records.reversed())
      case .collections(let records): .collections(records.reversed())
      case .counted(let counts): .counted(counts.reversed())
      default: source
      }
  }

  deinit {
    statement?.reset()
    transaction.connection.giveBack(reader)
  }

  // MARK: Rows

  func next() throws -> Bool {
    try table.noting { () throws(StoreError) in
      document.leave()
      try transaction.requireOpen()
      if try readNext() { return true }
      if isWhole { try transaction.requireCount() }
      return false
    }
  }

  private func readNext() throws(StoreError) -> Bool {
    switch source {
    case .counted(var counts):
      defer { source = .counted(counts) }
      repeat {
        guard let (record, count) = counts.popLast() else { return false }
        repeatCount = Int64(count) - 1
        repeatedText = VirtualText(
          column: DocumentTable.Column.collection.rawValue, utf8: table.retainedName(of: record))
      } while repeatCount < 0
      return true
    case .key(let key, var records):
      defer { source = .key(key, records) }
      while let record = records.popLast() {
        if try read(key, in: record) { return true }
      }
      return false
    case .document(let id):
      source = .collections([])
      return try read(id)
    case .ids(let ids, let isDescending, let only):
      return try nextRow(in: ids, isDescending, only)
    case .collections(var records):
      defer { source = .collections(records) }
      return try nextRow(of: &records)
    }
  }

  private func read(_ key: DocumentKey, in record: CollectionRecord) throws(StoreError) -> Bool {
    // A value that isn't a valid key in this collection doesn't match a document.
    guard (1...DocumentKey.maximumByteCount).contains(key.bytes.count), !record.foldsKeys || key.text != nil,
      let found = try reader.row(forKey: key, in: record, within: transaction.limits)
    else { return false }
    guard withTexts else {
      document.load(found.row, found.head)
      return true
    }
    return try read(DocumentID(found.row.fields.id))
  }

  private func read(_ id: DocumentID) throws(StoreError) -> Bool {
    do throws(StoreError) {
      let row = try reader.row(id, withBody: withTexts, within: transaction.limits)
      document.load(row, try reader.opener.openHead(row))
      return true
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      return false
    }
  }

  private func nextRow(of records: inout [CollectionRecord]) throws(StoreError) -> Bool {
    while true {
      if let statement {
        if try statement.step() {
          let row = try transaction.row(statement, within: transaction.limits)
          let position = DocumentPosition(verified: row.position)
          if transaction.hasWritten, order?.isRepeated(row.fields, at: position) == true { continue }
          let head = try reader.opener.openHead(row)
          try order?.check(row.fields, at: position, isWriting: transaction.hasWritten)
          document.load(row, head)
          return true
        }
        statement.reset()
      }
      statement = nil
      guard let record = records.popLast() else { return false }
      statement = try transaction.database.statement(
        withTexts ? SQL.inOrderWithBody : SQL.inOrder, Int64(record.id))
      order = OrderCheck(collection: record.id, after: nil, limit: transaction.state.count)
    }
  }

  private func nextRow(in ids: Range<Int64>, _ isDescending: Bool, _ only: Set<UInt32>?) throws(StoreError) -> Bool {
    let running: StoreStatement
    if let statement {
      running = statement
    } else {
      let sql =
        isDescending
        ? withTexts ? SQL.idRangeDescendingWithBody : SQL.idRangeDescending
        : withTexts ? SQL.idRangeWithBody : SQL.idRange
      running = try transaction.database.statement(sql, ids.lowerBound, ids.upperBound - 1)
      statement = running
    }
    while try running.step() {
      let row = try transaction.row(running, within: transaction.limits)
      let id = row.fields.id
      // Manipulated pages can return rows twice or out of order.
      if let lastID, isDescending ? id >= lastID : id <= lastID {
        throw .damagedDocument(id, "it is not in its place among the ids")
      }
      lastID = id
      if let only, !only.contains(row.fields.collection) { continue }
      document.load(row, try reader.opener.openHead(row))
      return true
    }
    running.reset()
    source = .collections([])
    statement = nil
    return false
  }

  func give(_ column: Int, to result: VirtualResult) throws {
    // A counted row contains only the repeated text.
    guard let column = DocumentTable.Column(rawValue: column), document.isLoaded else { return }
    try document.give(column, to: result)
  }
}
