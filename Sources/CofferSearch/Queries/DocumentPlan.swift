internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// A query's strategy for reading the view, as the number that SQLite keeps with the compiled statement.
///
/// SQLite rechecks every condition, so a plan may return extra rows but must not omit any. A counting plan returns
/// exact rows, because checking each row would take longer than counting.
struct DocumentPlan: OptionSet {
  let rawValue: Int

  // The conditions whose values are passed as arguments, in this order.
  static let byCollection = DocumentPlan(rawValue: 1)
  static let byID = DocumentPlan(rawValue: 2)
  static let byKey = DocumentPlan(rawValue: 4)
  static let above = DocumentPlan(rawValue: 8)
  static let below = DocumentPlan(rawValue: 16)
  /// A bound that includes its value (`>=` or `<=`).
  static let aboveOrEqual = DocumentPlan(rawValue: 512)
  static let belowOrEqual = DocumentPlan(rawValue: 1024)
  /// Rows sorted by ID instead of in the collection's order.
  static let sortedByID = DocumentPlan(rawValue: 32)
  static let descending = DocumentPlan(rawValue: 64)
  static let withTexts = DocumentPlan(rawValue: 128)
  /// A query that reads only collection names, so rows are counted instead of read.
  static let counting = DocumentPlan(rawValue: 256)

  private static let texts = DocumentTable.Column.text.bit | DocumentTable.Column.json.bit
}

// MARK: - Choosing

extension DocumentPlan {
  /// Returns the best plan for a query's conditions and order.
  static func choose(for request: VirtualTableRequest, documentCount count: Int64) -> VirtualTablePlan {
    func condition(
      _ column: DocumentTable.Column, _ comparisons: VirtualTableRequest.Condition.Comparison...
    ) -> VirtualTableRequest.Condition? {
      request.conditions.first { $0.column == column.rawValue && comparisons.contains($0.comparison) }
    }
    var plan: DocumentPlan = request.usedColumns & texts != 0 ? .withTexts : []
    var arguments: [Int] = []
    func use(_ condition: VirtualTableRequest.Condition?, _ kind: DocumentPlan) {
      guard let condition else { return }
      plan.insert(kind)
      arguments.append(condition.number)
    }
    func chosen(cost: Double, rowCount: Int64, isOrdered: Bool = false, isUnique: Bool = false) -> VirtualTablePlan {
      var chosen = VirtualTablePlan(number: plan.rawValue, cost: cost, rowCount: max(rowCount, 1))
      (chosen.arguments, chosen.isOrdered, chosen.isUnique) = (arguments, isOrdered, isUnique)
      return chosen
    }

    if let id = condition(.id, .equal) {
      use(id, .byID)
      return chosen(cost: 1, rowCount: 1, isOrdered: true, isUnique: true)
    }
    let collection = condition(.collection, .equal)
    use(collection, .byCollection)
    if let key = condition(.key, .equal) {
      use(key, .byKey)
      return chosen(cost: collection == nil ? 8 : 2, rowCount: 1)
    }
    let (above, below) = (condition(.id, .greater, .greaterOrEqual), condition(.id, .less, .lessOrEqual))
    // Without a bound, reading by ID would also step through all other collections.
    let mayWalkIDs = collection == nil || above != nil || below != nil
    if mayWalkIDs, request.order.count == 1, request.order[0].column == DocumentTable.Column.id.rawValue {
      plan.insert(request.order[0].isDescending ? [.sortedByID, .descending] : .sortedByID)
    }
    if above != nil || below != nil {
      use(above, above?.comparison == .greater ? .above : [.above, .aboveOrEqual])
      use(below, below?.comparison == .less ? .below : [.below, .belowOrEqual])
    } else if request.usedColumns & ~DocumentTable.Column.collection.bit == 0 {
      plan.insert(.counting)
    }
    var rowCount = count
    if collection != nil { rowCount /= 2 }
    if above != nil { rowCount /= 2 }
    if below != nil { rowCount /= 2 }
    let isInOrder = collection != nil && !plan.contains(.sortedByID) && isOrderOfCollection(request.order)
    // Rows can't be both in the collection's order and selected by ID.
    if isInOrder { plan.subtract([.above, .below]) }
    if isInOrder { arguments = collection.map { [$0.number] } ?? [] }
    let cost = plan.contains(.counting) ? 0.1 : plan.contains(.withTexts) ? 4.0 : 2.0
    var counted = chosen(
      cost: Double(rowCount) * cost, rowCount: rowCount, isOrdered: isInOrder || plan.contains(.sortedByID))
    if plan.contains(.counting) { counted.exactArguments = arguments }
    return counted
  }

  /// Returns whether the requested order is the row order within a collection.
  private static func isOrderOfCollection(_ order: [(column: Int, isDescending: Bool)]) -> Bool {
    let columns = order.map(\.column)
    let stored = [DocumentTable.Column.position.rawValue, DocumentTable.Column.id.rawValue]
    return !order.contains(where: \.isDescending) && (columns == Array(stored.prefix(1)) || columns == stored)
  }
}

// MARK: - Reading

extension DocumentPlan {
  /// Returns the rows to read for the condition values.
  func source(_ values: [SQLiteValue], _ transaction: StoreTransaction) throws(StoreError) -> DocumentRows.Source {
    // Comparisons with NULL are never true.
    guard !values.contains(.null) else { return .collections([]) }
    var rest = values[...]
    if contains(.byID), let id = rest.popFirst() {
      switch id {
      case .integer(let id): return .document(DocumentID(rawValue: id))
      case .real(let id): return Int64(exactly: id).map { .document(DocumentID(rawValue: $0)) } ?? .collections([])
      default: return .collections(try transaction.collections())
      }
    }
    var collections = try transaction.collections()
    if contains(.byCollection), let value = rest.popFirst() {
      if case .text(let name) = value {
        collections = try transaction.collection(named: name).map { [$0] } ?? []
      } else if contains(.counting) {
        collections = try Self.collections(collections, equalTo: value, transaction)
      }
    }
    if contains(.byKey), let key = rest.popFirst().flatMap(Self.key) {
      return .key(key, collections)
    }
    if contains(.counting) {
      var counts: [(CollectionRecord, Int)] = []
      for record in collections { counts.append((record, try transaction.count(in: record))) }
      return .counted(counts)
    }
    let bounds = self.bounds(&rest, nextID: transaction.state.bound)
    guard let bounds else { return .collections(collections) }
    guard !bounds.isEmpty else { return .collections([]) }
    let only = contains(.byCollection) ? Set(collections.map(\.id)) : nil
    if !contains(.sortedByID), let only, only.count == 1 {
      // Choose the source with fewer index entries.
      let count = try transaction.count(in: collections[0])
      if count <= bounds.count { return .collections(collections) }
    }
    return .ids(bounds, isDescending: contains(.descending), only)
  }

  /// Returns the collections whose name equals a value that isn't text, by SQLite's comparison rules.
  ///
  /// - Throws: `queryFailed` if the result depends on the value's origin. For example, the name `05` equals the number
  ///   5 from a column but not from a parameter.
  private static func collections(
    _ records: [CollectionRecord], equalTo value: SQLiteValue, _ transaction: StoreTransaction
  ) throws(StoreError) -> [CollectionRecord] {
    guard value.real != nil else { return [] }
    var equal: [CollectionRecord] = []
    // SQLite compares texts if only this column has an affinity, and numbers if the other side is a numeric column.
    let sql = "SELECT ?1=CAST(?2 AS TEXT),?1=CAST(?2 AS NUMERIC)"
    for record in records {
      let row = try transaction.database.rows(sql, record.name, value)[0]
      guard row[0] == row[1] else {
        throw StoreError(
          .queryFailed, "the query compares collection with a number, and a collection's name reads as that number",
          hint: "quote it: collection = '5'")
      }
      if row[0] == .integer(1) { equal.append(record) }
    }
    return equal
  }

  /// Returns the key for a text or blob, or `nil` for values that SQLite converts before comparing.
  private static func key(_ value: SQLiteValue) -> DocumentKey? {
    switch value {
    case .text(let text): DocumentKey(text)
    case .blob(let bytes): DocumentKey(bytes: bytes)
    default: nil
    }
  }

  /// Returns the ID range within the numeric bounds, or `nil` if the plan doesn't read by ID.
  private func bounds(_ values: inout ArraySlice<SQLiteValue>, nextID: UInt64) -> Range<Int64>? {
    guard contains(.above) || contains(.below) || contains(.sortedByID) else { return nil }
    let end = Int64(clamping: nextID)
    var (lower, upper) = (Int64(1), end)
    if contains(.above), let value = values.popFirst() {
      switch value {
      case .integer(let id): lower = contains(.aboveOrEqual) ? id : id == .max ? end : id + 1
      case .real(let id): lower = Self.clamped(contains(.aboveOrEqual) ? id.rounded(.up) : id.rounded(.down) + 1)
      default: break
      }
    }
    if contains(.below), let value = values.popFirst() {
      switch value {
      case .integer(let id): upper = contains(.belowOrEqual) && id < .max ? id + 1 : id
      case .real(let id): upper = Self.clamped(contains(.belowOrEqual) ? id.rounded(.down) + 1 : id.rounded(.up))
      default: break
      }
    }
    lower = min(max(lower, 1), end)
    return lower..<max(min(upper, end), lower)
  }

  private static func clamped(_ number: Double) -> Int64 {
    Int64(exactly: number) ?? (number < 0 ? .min : .max)
  }
}
