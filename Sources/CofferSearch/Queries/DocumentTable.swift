internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// The decrypted view `documents` of a transaction, as a virtual table on another connection.
///
/// A query verifies a head when it reaches the row, and decrypts the text only if it reads a column that needs it. If a
/// query reads only collection names, its rows are counted from the index without decryption.
final class DocumentTable: VirtualTable {
  static let name = "documents"

  enum Column: Int, CaseIterable {
    case collection, id, position, title, text, key, created, modified, isJSON, size, parent, attributes, json

    var declared: VirtualColumn {
      switch self {
      case .collection: VirtualColumn("collection", "TEXT")
      case .id: VirtualColumn("id", "INTEGER")
      case .position: VirtualColumn("position", "TEXT")
      case .title: VirtualColumn("title", "TEXT")
      case .text: VirtualColumn("text", "TEXT")
      case .key: VirtualColumn("\"key\"", "TEXT")
      case .created: VirtualColumn("created", "TEXT")
      case .modified: VirtualColumn("modified", "TEXT")
      case .isJSON: VirtualColumn("isJSON", "INTEGER")
      case .size: VirtualColumn("size", "INTEGER")
      case .parent: VirtualColumn("parent", "INTEGER")
      case .attributes: VirtualColumn("attributes", "TEXT")
      // Hidden, so `*` doesn't return each text twice.
      case .json: VirtualColumn("json", "TEXT HIDDEN")
      }
    }

    /// The column's bit in the set of columns that a query reads.
    var bit: UInt64 { 1 << UInt64(rawValue) }
  }

  let columns = Column.allCases.map(\.declared)
  // Without row IDs, a query that uses a row must read one of these columns.
  let primaryKey: String? = "id"
  private var transaction: StoreTransaction?
  /// The counted collections' names, which SQLite can access until the query ends.
  private var names: [UInt32: UnsafeMutableRawBufferPointer] = [:]
  /// The error that ended a query, kept because SQLite doesn't report it.
  private(set) var failure: StoreError?
  /// The documents whose columns the query's cursors have read, with the latest document last.
  private(set) var readings: [Reading] = []

  /// A document that a cursor has read.
  struct Reading {
    let cursor: ObjectIdentifier
    let id: DocumentID
    /// Whether the query has read the text.
    var withText: Bool
  }

  deinit {
    for name in names.values { name.deallocate() }
  }

  /// Sets the transaction, or `nil` between queries. Statements must not be running.
  func show(_ transaction: StoreTransaction?) {
    self.transaction = transaction
    failure = nil
    readings = []
    for name in names.values { name.deallocate() }
    names.removeAll(keepingCapacity: true)
  }

  /// Returns a collection's name in memory that remains valid until the query ends.
  func retainedName(of record: CollectionRecord) -> UnsafeRawBufferPointer {
    if let name = names[record.id] { return UnsafeRawBufferPointer(name) }
    let name = UnsafeMutableRawBufferPointer.allocate(byteCount: record.name.utf8.count, alignment: 1)
    name.copyBytes(from: record.name.utf8)
    names[record.id] = name
    return UnsafeRawBufferPointer(name)
  }

  /// The error that the query ends with if the store was closed or suspended, or `nil` if the query may continue.
  var stop: StoreError? { transaction?.stop.error }

  func plan(for request: VirtualTableRequest) -> VirtualTablePlan {
    DocumentPlan.choose(for: request, documentCount: max(Int64(clamping: transaction?.state.count ?? 1), 1))
  }

  func open(plan: Int, values: [SQLiteValue]) throws -> any VirtualRows {
    try noting { () throws(StoreError) in
      guard let transaction else { throw StoreError.queryEnded }
      let plan = DocumentPlan(rawValue: plan)
      return try DocumentRows(self, transaction, plan.source(values, transaction), withTexts: plan.contains(.withTexts))
    }
  }

  /// Runs `work` and keeps its error, because SQLite reports only that an error occurred.
  func noting<R>(_ work: () throws(StoreError) -> R) throws -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      failure = failure ?? error
      throw error
    }
  }

  /// Records that a cursor returns a document's value.
  func note(_ cursor: DocumentValues, _ id: DocumentID, withText: Bool) {
    let cursor = ObjectIdentifier(cursor)
    if let last = readings.last, last.cursor == cursor, last.id == id, last.withText || !withText { return }
    let isKnown = readings.contains { $0.cursor == cursor && $0.id == id && $0.withText }
    forget(cursor)
    readings.append(Reading(cursor: cursor, id: id, withText: withText || isKnown))
  }

  /// Records that a cursor leaves its row.
  func leave(_ cursor: DocumentValues) {
    if !readings.isEmpty { forget(ObjectIdentifier(cursor)) }
  }

  private func forget(_ cursor: ObjectIdentifier) {
    readings.removeAll { $0.cursor == cursor }
  }
}

extension StoreError {
  static let queryEnded = StoreError(.misuse, "this query has ended: read its rows within its closure")
}
