internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// The documents of a damaged store, sorted by id: sound ones for a copier, the others for the report.
///
/// First the rows that the trees of pages lead to. If these have holes, or miss a text, every page is searched for it.
///
/// Only one thread at a time uses it and the source's connection.
final class SalvageWalk {
  /// After this many rows without a sound one, progress is reported all the same.
  private static let rowsPerBatch = 4096
  /// The most documents that the report names for one reason.
  private static let listed = 1000
  /// The head proves the row; a contradiction of state or title mode does not matter.
  static let limits = RowLimits.none

  let source: SalvageSource
  let opener: RecordOpener
  let numbers: NumberWalk
  private let rows: Statement
  private let bodies: Statement
  /// Ids that the table of rows gave.
  var seen = NumberRanges()
  /// Documents among those whose row or text no tree leads to.
  var unreadable: [Int64: Unreadable] = [:]
  /// The walk over the rows found page by page; nil while the trees are walked.
  var search: Search?
  /// Ids that only the search found.
  var found: Set<Int64> = []
  private var left: [DamagedDocument] = []
  private var namedByNumber: [CollectionID] = []
  /// As bytes: the composed and the decomposed form are two names.
  private var names: Set<[UInt8]> = []
  private var problems: [String] = []
  /// Rows that old keys wrote after these were replaced; the seals alone prove them.
  private var late: [Int64] = []
  private var set = SetHash()
  private var count: UInt64 = 0
  /// False if a row could not even be summed.
  var isSummed = true
  /// Above every id that an authentic row has or names.
  private(set) var firstUnusedNumber: UInt64 = 1

  init(_ source: SalvageSource) throws(StoreError) {
    self.source = source
    opener = RecordOpener(try RowKeys(source.keys), checksBounds: false)
    numbers = try NumberWalk(source.database, SQL.recordNumbers)
    rows = try source.database.statement(SQL.recordAlone).base
    bodies = try source.database.statement(SQL.body).base
  }

  // MARK: Collections

  /// The collections whose names can be read.
  func readCollections() throws(StoreError) -> [CollectionRecord] {
    // The table itself may be gone.
    guard let numbers = try? NumberWalk(source.database, SQL.collectionNumbers) else {
      isSummed = false
      return []
    }
    var collections: [CollectionRecord] = []
    while let number = try numbers.next() {
      if let collection = try readCollection(number) { collections.append(collection) } else { isSummed = false }
    }
    isSummed = isSummed && numbers.holes.isEmpty
    return collections
  }

  /// - Returns: nil if the name is not authentic, or another collection has it.
  private func readCollection(_ number: Int64) throws(StoreError) -> CollectionRecord? {
    let database = source.database
    let keys = opener.keys
    let found = try database.reading { () throws(SQLiteError) in
      try database.connection.query(SQL.collection, number).rows
    }
    let rows = (found ?? []).compactMap { try? CollectionRow($0, generation: Self.limits.generation) }
    // A forged row may claim a later revision than the sound one.
    var sound: CollectionRecord?
    let row = rows.first { row in
      sound = try? CollectionRecord(row, keys)
      return sound != nil
    }
    if let element = try? (row ?? rows.first)?.element(keys) { try add(element) }
    guard let sound, names.insert(Array(sound.name.utf8)).inserted else { return nil }
    return sound
  }

  /// A collection whose name is lost, under a name that no other collection has.
  private func collection(named number: UInt32) throws(StoreError) -> CollectionRecord {
    var name = "collection \(number)"
    while !names.insert(Array(name.utf8)).inserted { name += "*" }
    namedByNumber.append(CollectionID(number))
    return try .new(number, name: name, settings: CollectionSettings(), revision: 1, opener.keys)
  }

  // MARK: Documents

  /// Seals the next sound documents into an emptied batch.
  ///
  /// - Returns: false if there were no more rows.
  func fill(_ batch: SealedBatch, with copier: RowCopier) throws(StoreError) -> Bool {
    let hasMore = try collect(batch, with: copier)
    try copier.finish(batch)
    return hasMore
  }

  private func collect(_ batch: SealedBatch, with copier: RowCopier) throws(StoreError) -> Bool {
    var looked = 0
    while !RowCopier.isFull(batch), looked < Self.rowsPerBatch {
      looked += 1
      if search == nil, let number = try numbers.next() {
        seen.append(number)
        try listing(number) { () throws(StoreError) in try salvage(number, with: copier, into: batch) }
      } else if try searchPages() {
        return true
      } else if let number = nextStray() {
        try listing(number) { () throws(StoreError) in try salvageStray(number, with: copier, into: batch) }
      } else {
        return looked > 1
      }
    }
    return true
  }

  /// Runs work on a document; if that is damaged, adds it to the list of documents that are not salvaged.
  private func listing(_ number: Int64, _ work: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try work()
    } catch {
      guard [.damaged, .tooLarge, .invalidArgument].contains(error.code) else { throw error }
      left.append(DamagedDocument(id: DocumentID(number), reason: error.message))
    }
  }

  private func salvage(_ number: Int64, with copier: RowCopier, into batch: SealedBatch) throws(StoreError) {
    guard let row = try readRow(number) else {
      unreadable[number] = Unreadable(reason: "its row can't be read", isSummed: false)
      return
    }
    let head = try prove(row)
    guard let whole = try withBody(row) else {
      unreadable[number] = Unreadable(reason: "its text can't be read", isSummed: true)
      return
    }
    try copy(row, head, text: try opener.openBody(whole, head), with: copier, into: batch)
  }

  /// - Returns: nil if SQLite finds no way to it.
  func readRow(_ number: Int64) throws(StoreError) -> RecordRow? {
    rows.reset()
    bodies.reset()
    let isRead = try source.database.reading { () throws(SQLiteError) in
      try rows.bind(number, at: 1)
      return try rows.step()
    }
    guard isRead == true else { return nil }
    do throws(StoreError) {
      return try RecordRow(StoreStatement(rows).columns(), within: Self.limits)
    } catch {
      isSummed = false
      throw error
    }
  }

  /// The row with its body, which either table may hold; nil if there is none.
  func withBody(_ row: RecordRow) throws(StoreError) -> RecordRow? {
    if row.body != nil { return row }
    let number = row.fields.id
    bodies.reset()
    let body = try source.database.reading { () throws(SQLiteError) -> UnsafeRawBufferPointer? in
      try bodies.bind(number, at: 1)
      return try bodies.step() && bodies.storageClass(at: 0) == .blob ? bodies.blobPointer(at: 0) : nil
    }
    guard let body = body ?? nil else { return nil }
    return row.joined(with: body)
  }

  private func add(_ element: SetElement) throws(StoreError) {
    do throws(SealingError) { try opener.keys.summer.add(element, to: &set) } catch { throw StoreError(error) }
  }

  /// Opens the head, and adds the row to the sum whether it opens or not.
  func prove(_ row: RecordRow) throws(StoreError) -> HeadData {
    do throws(StoreError) {
      try add(try opener.element(of: row))
      count += 1
    } catch {
      isSummed = false
      throw error
    }
    let head = try opener.openHead(row)
    if (try? opener.requireBounds(row)) == nil || isBehindCursor(row.fields) { late.append(row.fields.id) }
    firstUnusedNumber = max(firstUnusedNumber, UInt64(row.fields.id) + 1)
    if let parent = row.fields.parent, parent < .max {
      firstUnusedNumber = max(firstUnusedNumber, UInt64(parent) + 1)
    }
    return head
  }

  /// Whether a rekey that the state shows has passed the row and left it under an older epoch.
  private func isBehindCursor(_ fields: RowFields) -> Bool {
    guard let state = source.state else { return false }
    return fields.epoch < state.target && UInt64(fields.id) < state.cursor
  }

  func copy(
    _ row: RecordRow, _ head: HeadData, text: UnsafeRawBufferPointer, with copier: RowCopier, into batch: SealedBatch
  ) throws(StoreError) {
    if copier.collections[row.fields.collection] == nil {
      batch.newCollections.append(copier.add(try collection(named: row.fields.collection)))
    }
    try copier.copy(row, head, text: text, parent: row.fields.parent, into: batch)
  }

  /// Whether everything that was written has been read, as far as a state shows.
  var isWhole: Bool {
    source.state.map { set == $0.set && count == $0.count } ?? false
  }

  // MARK: Lost documents, report

  private func isKnown(_ number: Int64) -> Bool { seen.contains(number) || found.contains(number) }

  /// Looks for documents whose row is missing but that other tables still name.
  ///
  /// - Parameter goOn: called now and then; if it throws, the work ends.
  func findLost(_ goOn: () throws -> Void) throws {
    var looked = 0
    func look() throws {
      looked += 1
      if looked.isMultiple(of: Self.rowsPerBatch) { try goOn() }
    }
    for hole in numbers.holes {
      let end = hole.upperBound == .max ? "on" : "to \(hole.upperBound)"
      problems.append("rows from number \(hole.lowerBound) \(end) can't be read: SQLite finds pages in disorder")
    }
    if !found.isEmpty {
      let documents = found.count == 1 ? "document was" : "documents were"
      problems.append("\(found.count) \(documents) found on pages to which no other leads any more")
    }
    let bodies = try NumberWalk(source.database, SQL.bodyNumbers)
    while let number = try bodies.next() {
      try look()
      guard !isKnown(number) else { continue }
      left.append(.init(id: DocumentID(number), reason: "document \(number) is damaged: its row is gone"))
    }
    var known = Set(left.map(\.id.rawValue))
    // An index may be missing or broken; its entries up to the break are read, but no more than the file can hold.
    let database = source.database
    guard let index = try? database.statement(SQL.indexedNumbers).base, let size = try? database.connection.fileSize()
    else { return }
    var rest = size / 4
    while rest > 0, try database.reading({ () throws(SQLiteError) in try index.step() }) == true {
      rest -= 1
      try look()
      let number = index.int64(at: 0)
      guard !isKnown(number), known.insert(number).inserted else { continue }
      left.append(
        .init(id: DocumentID(number), reason: "document \(number) is damaged: an index names it, but its row is gone"))
    }
    index.reset()
  }

  func conclude(_ report: inout SalvageReport) {
    report.left = left
    report.namedByNumber = namedByNumber.sorted()
    report.problems = source.problems + problems
    for id in late.prefix(Self.listed) {
      report.problems.append(
        "document \(id) was written with old keys after these were replaced: look whether it is yours")
    }
    // Rows that the search found may complete the set: its hash shows whether any is missing.
    report.setMatches = source.state.map { _ in isSummed && isWhole }
    if report.setMatches == false, left.isEmpty {
      report.problems.append("the documents are not the set that was written: some are missing, older or changed")
    }
  }
}
