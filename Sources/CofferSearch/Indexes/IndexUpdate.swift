internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// An operation that updates an index to match a transaction's documents.
final class IndexUpdate {
  private let transaction: StoreTransaction
  private let file: IndexFile
  private let index: any DocumentIndexTables
  private let progress: ((Int) throws(StoreError) -> Void)?
  private let numbers: Set<UInt32>
  /// Whether to rebuild tables with many outdated rows. In memory, this could exceed the readers' limit.
  var rebuildsWorn: Bool
  /// Whether the limit left dates to read that another program couldn't read. All documents are indexed then.
  private(set) var leavesUnread = false

  init(
    _ file: IndexFile, _ transaction: StoreTransaction, progress: ((Int) throws(StoreError) -> Void)? = nil
  ) throws(StoreError) {
    self.file = file
    self.transaction = transaction
    self.progress = progress
    index = try file.tables(transaction)
    numbers = Set(file.declaration.collections.map(\.number))
    rebuildsWorn = file.isInStore
  }

  /// Indexes changes in one inner database transaction.
  ///
  /// - Parameters:
  ///   - adding: The collections whose tables to rebuild.
  ///   - limit: The cost after which to stop (``IndexSteps``), or `nil` to index all changes.
  /// - Returns: The last compared ID, or `nil` if all changes are indexed.
  @discardableResult
  func run(_ gap: IndexGap, adding: [UInt32] = [], limit: Int? = nil) throws(StoreError) -> Int64? {
    try file.watching(transaction) { () throws(StoreError) in
      try file.run { database throws(SQLiteError) in try database.begin(.immediate) }
      do throws(StoreError) {
        let last = try apply(gap, adding: adding, limit: limit)
        try file.run { database throws(SQLiteError) in try database.commit() }
        return last
      } catch {
        try? file.database.rollback()
        throw error
      }
    }
  }

  private func apply(_ gap: IndexGap, adding: [UInt32], limit: Int?) throws(StoreError) -> Int64? {
    let made = try collectionsWithTables()
    for number in made.subtracting(numbers).union(adding) where made.contains(number) {
      try file.run { _ throws(SQLiteError) in try index.dropTables(of: number) }
    }
    let new = numbers.subtracting(made).union(adding).intersection(numbers)
    var ranges: [ClosedRange<Int64>] = []
    switch gap {
    case .nothing: break
    case .ids(let changed): ranges = changed
    case .everything: if new != numbers { ranges = [1...Int64.max] }
    }
    var (left, last) = (limit ?? Int.max, nil as Int64?)
    for range in ranges where last == nil { last = try refresh(range, except: new, limit: &left) }
    for number in new.sorted() { try build(number) }
    if last == nil {
      let unread = try file.run { _ throws(SQLiteError) in try index.unreadDocuments() }
      for (count, id) in unread.enumerated() {
        // Each step reads one, or others could change so much that the steps never end.
        guard left > 0 || count == 0 else {
          leavesUnread = true
          break
        }
        guard try transaction.hasRow(DocumentID(id)) else { throw IndexRoot.damaged("it has a date of no document") }
        try put(id, isUnread: true)
        left -= IndexSteps.documentCost
      }
    }
    guard rebuildsWorn, last == nil, !leavesUnread else { return last }
    let worn = try file.run { _ throws(SQLiteError) in try index.worn() }
    for number in worn {
      try file.run { _ throws(SQLiteError) in try index.dropTables(of: number) }
      try build(number)
    }
    return last
  }

  /// Whether there are tables with many outdated rows.
  var hasWornTables: Bool {
    get throws(StoreError) { try !file.run { _ throws(SQLiteError) in try index.worn() }.isEmpty }
  }

  /// Returns the collections whose tables exist, after creating the shared tables if they're missing.
  private func collectionsWithTables() throws(StoreError) -> Set<UInt32> {
    try file.run { database throws(SQLiteError) in
      if try database.firstValue("SELECT 1 FROM main.sqlite_schema WHERE name='made'") == nil {
        try index.makeTables()
      }
      var numbers: Set<UInt32> = []
      for row in try database.query("SELECT coll FROM main.made").rows {
        numbers.insert(try IndexedNumbers.collection(row[0].integer ?? 0))
      }
      return numbers
    }
  }

  // MARK: All documents of a collection

  private func build(_ number: UInt32) throws(StoreError) {
    guard let collection = file.declaration.collection(number) else { return }
    try file.run { _ throws(SQLiteError) in try index.makeTables(of: collection) }
    // Deleted collections, and collections whose number was reused, don't have documents.
    let isThere = try transaction.collections().contains { $0.id == number && $0.uid == collection.uid }
    if isThere {
      try StoreIndexes(transaction).forEachDocument(in: number, withTexts: index.holdsTexts, progress) {
        document throws(StoreError) in
        do throws(SQLiteError) {
          try index.put(document, isNew: true)
        } catch {
          throw IndexFile.failure(error, file.pages)
        }
      }
    }
    try file.run { _ throws(SQLiteError) in try index.finishTables(of: collection) }
  }

  // MARK: Changed documents

  /// Updates the index for the rows in an ID range.
  ///
  /// - Returns: The last compared ID if comparing reached `limit`, or `nil` after the entire range.
  private func refresh(
    _ ids: ClosedRange<Int64>, except new: Set<UInt32>, limit: inout Int
  ) throws(StoreError) -> Int64? {
    var removed: [Int64] = []
    var changed: [Int64] = []
    let last = try compare(ids, except: new, limit: &limit, &removed, &changed)
    for id in removed { try file.run { _ throws(SQLiteError) in try index.remove(id) } }
    for (count, id) in changed.enumerated() {
      try put(id)
      if (count + 1) % 64 == 0 { try progress?(64) }
    }
    return last
  }

  /// Finds differences between rows and indexed documents in one pass over both.
  private func compare(
    _ ids: ClosedRange<Int64>, except new: Set<UInt32>, limit: inout Int, _ removed: inout [Int64],
    _ changed: inout [Int64]
  ) throws(StoreError) -> Int64? {
    let known = try file.run { database throws(SQLiteError) in
      let known = try database.statement("SELECT id,mark,coll FROM main.document WHERE id BETWEEN ? AND ? ORDER BY id")
      try known.bind(ids.lowerBound, at: 1)
      try known.bind(ids.upperBound, at: 2)
      return known
    }
    defer { known.reset() }
    var lastKnown = ids.lowerBound - 1
    func nextKnown() throws(StoreError) -> (id: Int64, mark: Int64)? {
      let next: (id: Int64, mark: Int64)? = try file.run { _ throws(SQLiteError) in
        try known.step() ? (known.int64(at: 0), known.int64(at: 1)) : nil
      }
      // A key holder may have written these rows. If they were out of order, an update in steps would never end.
      guard let next else { return nil }
      guard next.id > lastKnown, StoreFormat.documentIDs.contains(next.id) else {
        throw IndexRoot.damaged("its documents are in disorder")
      }
      lastKnown = next.id
      return next
    }
    let attached = index.holdsTexts ? try AttachedNames(of: ids, in: transaction) : nil
    defer { attached?.end() }
    let rows = try transaction.database.statement(SQL.idRange, ids.lowerBound, ids.upperBound)
    defer { rows.reset() }
    let reader = transaction.connection.takeReader()
    defer { transaction.connection.giveBack(reader) }
    let limits = transaction.limits
    var next = try nextKnown()
    var last = ids.lowerBound - 1
    /// Notes removed documents, and returns whether the limit allows more.
    func remove(below id: Int64) throws(StoreError) -> Bool {
      while let gone = next, gone.id < id {
        guard limit > 0 else { return false }
        limit -= IndexSteps.documentCost
        last = gone.id
        removed.append(gone.id)
        next = try nextKnown()
      }
      return limit > 0
    }
    while try rows.step() {
      try transaction.requireOpen()
      let row = try transaction.row(rows, within: limits)
      let id = row.fields.id
      guard id > last else { throw .damagedDocument(id, "it is not in its place among the ids") }
      guard try remove(below: id) else { return last }
      (last, limit) = (id, limit - 1)
      let mark = next.flatMap { $0.id == id ? $0.mark : nil }
      if mark != nil { next = try nextKnown() }
      guard numbers.contains(row.fields.collection), !new.contains(row.fields.collection) else {
        if mark != nil { removed.append(id) }
        continue
      }
      if try mark != RowMarks(row, reader.opener).row &+ (attached?.mark(of: id) ?? 0) {
        limit -= IndexSteps.documentCost
        changed.append(id)
      }
    }
    _ = try remove(below: .max)
    return next == nil ? nil : last
  }

  private func put(_ id: Int64, isUnread: Bool = false) throws(StoreError) {
    let reader = transaction.connection.takeReader()
    defer { transaction.connection.giveBack(reader) }
    let row = try reader.row(DocumentID(id), withBody: index.holdsTexts, within: transaction.limits)
    let marks = try RowMarks(row, reader.opener)
    let head = try reader.opener.openHead(row)
    let attached = index.holdsTexts ? try AttachedNames(of: id...id, in: transaction) : nil
    defer { attached?.end() }
    var document = try IndexedDocument(header: DocumentHeader(row, head), marks: marks, attached: attached)
    if !isUnread, try file.run({ _ throws(SQLiteError) in try index.isUnchanged(document) }) { return }
    if index.holdsTexts { document.text = try reader.opener.openBody(row, head) }
    try file.run { _ throws(SQLiteError) in try index.put(document, isNew: false) }
  }
}
