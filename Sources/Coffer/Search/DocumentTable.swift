internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import CofferText

/// The decrypted view `documents`, row by row out of one transaction, as a virtual table of another connection.
///
/// Heads are proved when a query comes to their row; a text is opened only where a query looks at it.
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

  /// What a plan's number says: which value it is given, and whether texts are looked at.
  private struct Way: OptionSet {
    let rawValue: Int

    static let byID = Way(rawValue: 1)
    static let byCollection = Way(rawValue: 2)
    static let withTexts = Way(rawValue: 4)
  }

  private let transaction: StoreTransaction
  /// What ended a query from within; SQLite is told nothing of it.
  private(set) var failure: StoreError?

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  var columns: [VirtualColumn] { Column.allCases.map(\.declared) }

  func plan(for request: VirtualTableRequest) -> VirtualTablePlan {
    let count = max(Int64(clamping: transaction.state.count), 1)
    let looksAtTexts = request.usedColumns & 1 << UInt64(Column.text.rawValue) != 0
    let texts: Way = looksAtTexts ? .withTexts : []
    // SQLite asks for the row id by -1.
    if let id = request.equalities.first(where: { $0.column == Column.id.rawValue || $0.column < 0 }) {
      var plan = VirtualTablePlan(number: texts.union(.byID).rawValue, cost: 1, rowCount: 1)
      plan.arguments = [id.number]
      plan.isUnique = true
      plan.isOrdered = true
      return plan
    }
    let cost = Double(count) * (looksAtTexts ? 4 : 2)
    guard let name = request.equalities.first(where: { $0.column == Column.collection.rawValue }) else {
      return VirtualTablePlan(number: texts.rawValue, cost: cost, rowCount: count)
    }
    var plan = VirtualTablePlan(
      number: texts.union(.byCollection).rawValue, cost: cost / 2, rowCount: max(count / 2, 1))
    plan.arguments = [name.number]
    plan.isOrdered = isInOrder(request.order)
    return plan
  }

  /// Whether rows of one collection come as they are asked for anyway.
  private func isInOrder(_ order: [(column: Int, isDescending: Bool)]) -> Bool {
    let columns = order.map(\.column)
    let own = [Column.position.rawValue, Column.id.rawValue]
    return !order.contains(where: \.isDescending) && (columns == Array(own.prefix(1)) || columns == own)
  }

  func open(plan: Int, values: [Value]) throws -> any VirtualRows {
    try noting { () throws(StoreError) in
      let way = Way(rawValue: plan)
      var rows = try DocumentRows.Source.collections(transaction.collections())
      if way.contains(.byID) {
        switch values[0] {
        case .integer(let id): rows = .document(DocumentID(id))
        case .null: rows = .collections([])
        // A text that is a number: SQLite compares as it knows how.
        default: break
        }
      } else if way.contains(.byCollection) {
        switch values[0] {
        case .text(let name): rows = .collections(try transaction.collection(named: name).map { [$0] } ?? [])
        case .null: rows = .collections([])
        default: break
        }
      }
      return try DocumentRows(self, transaction, rows, withTexts: way.contains(.withTexts))
    }
  }

  /// Keeps what went wrong before SQLite forgets it.
  func noting<R>(_ work: () throws(StoreError) -> R) throws -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      failure = failure ?? error
      throw error
    }
  }
}

/// One way through the view: a document, or collections by their number, each in order.
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
  /// Collections that are still to come, the last first.
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
      guard let row = try nextRow() else { return false }
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
        return try transaction.row(statement, within: transaction.state.limits)
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
