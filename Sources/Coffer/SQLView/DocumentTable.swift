internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import CofferText

/// The decrypted view `documents` of one transaction, as a virtual table of another connection.
///
/// A query verifies a head when it reaches the row, and opens a text only when it reads the column.
final class DocumentTable: VirtualTable {
  static let name = "documents"

  enum Column: Int, CaseIterable {
    case collection, id, position, title, text, key, created, modified

    var declared: VirtualColumn {
      switch self {
      case .collection: VirtualColumn("collection", "TEXT")
      case .id: VirtualColumn("id", "INTEGER")
      case .position: VirtualColumn("position", "INTEGER")
      case .title: VirtualColumn("title", "TEXT")
      case .text: VirtualColumn("text", "TEXT")
      case .key: VirtualColumn("\"key\"", "TEXT")
      case .created: VirtualColumn("created", "TEXT")
      case .modified: VirtualColumn("modified", "TEXT")
      }
    }
  }

  /// A plan, as the number that SQLite passes on: the kind of its argument, and whether the query reads texts.
  private struct Plan: OptionSet {
    let rawValue: Int

    static let byID = Plan(rawValue: 1)
    static let byCollection = Plan(rawValue: 2)
    static let withTexts = Plan(rawValue: 4)
  }

  private let transaction: StoreTransaction
  /// The error of this table that ended a query; SQLite itself reports none.
  private(set) var failure: StoreError?
  /// The document that a query reads; nil before the first and behind the last.
  fileprivate(set) var latest: DocumentID?

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Whether the store is being closed under a query that reads.
  var isClosed: Bool { !transaction.isWriter && transaction.connection.session.isClosing }

  var columns: [VirtualColumn] { Column.allCases.map(\.declared) }

  func plan(for request: VirtualTableRequest) -> VirtualTablePlan {
    let count = max(Int64(clamping: transaction.state.count), 1)
    let readsTexts = request.usedColumns & 1 << UInt64(Column.text.rawValue) != 0
    let texts: Plan = readsTexts ? .withTexts : []
    // SQLite names the row id as column -1.
    if let id = request.equalities.first(where: { $0.column == Column.id.rawValue || $0.column < 0 }) {
      var plan = VirtualTablePlan(number: texts.union(.byID).rawValue, cost: 1, rowCount: 1)
      plan.arguments = [id.number]
      plan.isUnique = true
      plan.isOrdered = true
      return plan
    }
    let cost = Double(count) * (readsTexts ? 4 : 2)
    guard let name = request.equalities.first(where: { $0.column == Column.collection.rawValue }) else {
      return VirtualTablePlan(number: texts.rawValue, cost: cost, rowCount: count)
    }
    var plan = VirtualTablePlan(
      number: texts.union(.byCollection).rawValue, cost: cost / 2, rowCount: max(count / 2, 1))
    plan.arguments = [name.number]
    plan.isOrdered = isInOrder(request.order)
    return plan
  }

  /// Whether the order asked for is the order of rows in one collection.
  private func isInOrder(_ order: [(column: Int, isDescending: Bool)]) -> Bool {
    let columns = order.map(\.column)
    let stored = [Column.position.rawValue, Column.id.rawValue]
    return !order.contains(where: \.isDescending) && (columns == Array(stored.prefix(1)) || columns == stored)
  }

  func open(plan: Int, values: [SQLiteValue]) throws -> any VirtualRows {
    try noting { () throws(StoreError) in
      let plan = Plan(rawValue: plan)
      var rows = try DocumentRows.Source.collections(transaction.collections())
      if plan.contains(.byID) {
        switch values[0] {
        case .integer(let id): rows = .document(DocumentID(id))
        case .null: rows = .collections([])
        // Text that may hold a number: SQLite compares it with every row.
        default: break
        }
      } else if plan.contains(.byCollection) {
        switch values[0] {
        case .text(let name): rows = .collections(try transaction.collection(named: name).map { [$0] } ?? [])
        case .null: rows = .collections([])
        default: break
        }
      }
      return try DocumentRows(self, transaction, rows, withTexts: plan.contains(.withTexts))
    }
  }

  /// Keeps the error of `work`; SQLite would report only that there was one.
  func noting<R>(_ work: () throws(StoreError) -> R) throws -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      failure = failure ?? error
      throw error
    }
  }
}

/// One pass over the view: one document, or collections sorted by number, each in order.
final class DocumentRows: VirtualRows {
  enum Source {
    case document(DocumentID)
    case collections([CollectionRecord])
  }

  private let table: DocumentTable
  private let transaction: StoreTransaction
  private let reader: RecordReader
  private let withTexts: Bool
  private let names: [UInt32: String]
  /// The collections left to read, in reverse.
  private var rest: [CollectionRecord]
  private var statement: StoreStatement?
  private var order: OrderCheck?
  private var row: RecordRow?
  private var head: HeadData?
  private var text: UnsafeRawBufferPointer?
  private let wanted: DocumentID?
  private var isBegun = false

  init(_ table: DocumentTable, _ transaction: StoreTransaction, _ source: Source, withTexts: Bool) throws(StoreError) {
    self.table = table
    self.transaction = transaction
    self.withTexts = withTexts
    reader = transaction.connection.takeReader()
    let all = try transaction.collections()
    names = Dictionary(all.map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first })
    switch source {
    case .document(let id): (wanted, rest) = (id, [])
    case .collections(let records): (wanted, rest) = (nil, records.reversed())
    }
  }

  deinit {
    statement?.reset()
    transaction.connection.giveBack(reader)
  }

  var rowID: Int64 { row?.fields.id ?? 0 }

  func next() throws -> Bool {
    try table.noting { () throws(StoreError) in
      (row, head, text) = (nil, nil, nil)
      table.latest = nil
      guard let row = try nextRow() else { return false }
      table.latest = DocumentID(row.fields.id)
      let head = try reader.opener.openHead(row)
      try order?.check(row.fields, isWriting: transaction.hasWritten)
      (self.row, self.head) = (row, head)
      return true
    }
  }

  private func nextRow() throws(StoreError) -> RecordRow? {
    try transaction.requireOpen()
    if let wanted, !isBegun {
      isBegun = true
      statement = try transaction.database.statement(
        withTexts ? SQL.recordWithBody : SQL.record, wanted.rawValue)
    }
    while true {
      if let statement, try statement.step() {
        return try transaction.row(statement, within: transaction.limits)
      }
      statement?.reset()
      statement = nil
      guard let collection = rest.popLast() else { return nil }
      statement = try transaction.database.statement(
        withTexts ? SQL.inOrderWithBody : SQL.inOrder, Int64(collection.id))
      order = OrderCheck(collection: collection.id, after: nil, limit: transaction.state.count)
    }
  }

  func give(_ column: Int, to result: VirtualResult) throws {
    guard let row, let head, let column = DocumentTable.Column(rawValue: column) else { return }
    switch column {
    case .collection:
      if let name = names[row.fields.collection] { result.giveText(name) }
    case .id: result.give(row.fields.id)
    case .position: result.give(row.fields.position)
    case .title: if let title = head.title { result.giveText(title) }
    case .text: result.giveText(try openedText(row, head))
    case .key:
      guard let key = head.key else { return }
      if UTF8Validity.isValid(key) { result.giveText(key) } else { result.giveBlob(key) }
    case .created: result.giveText(Timestamp(millisecondsSince1970: head.created).description)
    case .modified: result.giveText(Timestamp(millisecondsSince1970: head.modified).description)
    }
  }

  private func openedText(_ row: RecordRow, _ head: HeadData) throws -> UnsafeRawBufferPointer {
    if let text { return text }
    let opened = try table.noting { () throws(StoreError) in try reader.opener.openBody(row, head) }
    text = opened
    return opened
  }
}
