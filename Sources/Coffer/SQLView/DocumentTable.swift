internal import CofferRecords
internal import CofferSQLite

/// The decrypted view `documents` of one transaction, as a virtual table of another connection.
///
/// A query verifies a head when it reaches the row, and opens a text only when it reads a column that shows it. A query
/// that reads no column beside the collection's name opens nothing: its rows are counted by the index.
final class DocumentTable: VirtualTable {
  static let name = "documents"

  enum Column: Int, CaseIterable {
    case collection, id, position, title, text, key, created, modified, isJSON, size, parent, attributes, json

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
      case .isJSON: VirtualColumn("isJSON", "INTEGER")
      case .size: VirtualColumn("size", "INTEGER")
      case .parent: VirtualColumn("parent", "INTEGER")
      case .attributes: VirtualColumn("attributes", "TEXT")
      // Hidden, so that * does not give every text twice.
      case .json: VirtualColumn("json", "TEXT HIDDEN")
      }
    }

    /// The column's bit among the columns that a query reads.
    var bit: UInt64 { 1 << UInt64(rawValue) }
  }

  let columns = Column.allCases.map(\.declared)
  // Without row ids, every use of a row is a use of one of these columns.
  let primaryKey: String? = "id"
  private var transaction: StoreTransaction?
  /// The names of counted collections, which SQLite may refer to until the query ends.
  private var names: [UInt32: UnsafeMutableRawBufferPointer] = [:]
  /// The error of this table that ended a query; SQLite itself reports none.
  private(set) var failure: StoreError?
  /// The documents that the query's cursors have read a column of, the latest last.
  private(set) var readings: [Reading] = []

  /// A document that a cursor has read.
  struct Reading {
    let cursor: ObjectIdentifier
    let id: DocumentID
    /// The query has read its text.
    var withText: Bool
  }

  deinit {
    for name in names.values { name.deallocate() }
  }

  /// Shows another transaction, or none between queries; no statement may be running.
  func show(_ transaction: StoreTransaction?) {
    self.transaction = transaction
    failure = nil
    readings = []
    for name in names.values { name.deallocate() }
    names.removeAll(keepingCapacity: true)
  }

  /// The name of a collection in memory that stays until the query has ended.
  func lentName(of record: CollectionRecord) -> UnsafeRawBufferPointer {
    if let name = names[record.id] { return UnsafeRawBufferPointer(name) }
    let name = UnsafeMutableRawBufferPointer.allocate(byteCount: record.name.utf8.count, alignment: 1)
    name.copyBytes(from: record.name.utf8)
    names[record.id] = name
    return UnsafeRawBufferPointer(name)
  }

  /// Whether the store is being closed under a query that reads.
  var isClosed: Bool { transaction.map { !$0.isWriter && $0.connection.session.isClosing } ?? false }

  func plan(for request: VirtualTableRequest) -> VirtualTablePlan {
    DocumentPlan.choose(for: request, documentCount: max(Int64(clamping: transaction?.state.count ?? 1), 1))
  }

  func open(plan: Int, values: [SQLiteValue]) throws -> any VirtualRows {
    try noting { () throws(StoreError) in
      guard let transaction else { throw StoreError(.misuse, "this query has ended: read its rows within its closure") }
      let plan = DocumentPlan(rawValue: plan)
      return try DocumentRows(self, transaction, plan.source(values, transaction), withTexts: plan.contains(.withTexts))
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

  /// Notes that a cursor gives a value of a document.
  func note(_ cursor: DocumentValues, _ id: DocumentID, withText: Bool) {
    let cursor = ObjectIdentifier(cursor)
    if let last = readings.last, last.cursor == cursor, last.id == id, last.withText || !withText { return }
    let isKnown = readings.contains { $0.cursor == cursor && $0.id == id && $0.withText }
    forget(cursor)
    readings.append(Reading(cursor: cursor, id: id, withText: withText || isKnown))
  }

  /// A cursor leaves its row.
  func leave(_ cursor: DocumentValues) {
    if !readings.isEmpty { forget(ObjectIdentifier(cursor)) }
  }

  private func forget(_ cursor: ObjectIdentifier) {
    readings.removeAll { $0.cursor == cursor }
  }
}
