internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// The documents in a damaged store. Sound documents are copied, and damaged documents are reported.
///
/// The walk first reads rows through the page trees. If rows or texts are missing, it searches every page.
///
/// Use a walk and the source's connection on one thread at a time.
final class SalvageWalk {
  /// The number of rows after which progress is reported, even if all of them are damaged.
  private static let rowsPerBatch = 4096
  /// The maximum number of documents to report for one reason.
  private static let listed = 1000
  /// The limits skip checks against the state and title mode, because the head verifies the row.
  static let limits = RowLimits.none

  let source: SalvageSource
  let opener: RecordOpener
  let histories: SalvagedHistories
  let numbers: NumberWalk
  private let rows: Statement
  private let bodies: Statement
  /// The IDs found in the row table.
  var seen = NumberRanges()
  /// The documents in `seen` whose row or text can't be reached through the trees.
  var unreadable: [Int64: Unreadable] = [:]
  /// The page-by-page search, or `nil` while the trees are walked.
  var search: Search?
  /// The IDs that the page search found.
  var found: Set<Int64> = []
  private var left: [Verdict.Damage] = []
  private var namedByNumber: [CollectionID] = []
  /// The names as bytes, because composed and decomposed forms are different names.
  private var names: Set<[UInt8]> = []
  private var deletionCount: UInt64 = 0
  private(set) var attachmentCount: UInt64 = 0
  private var problems: [String] = []
  /// The rows written with old keys after a rekey. Encryption is the only proof of their authenticity.
  private var late: [Int64] = []
  private var set = SetHash()
  private var count: UInt64 = 0
  /// Whether every row could be added to the sum.
  var isSummed = true
  /// A number above every ID used or referenced by an authentic row.
  private(set) var firstUnusedNumber: UInt64 = 1

  init(_ source: SalvageSource) throws(StoreError) {
    self.source = source
    histories = SalvagedHistories(source.heritage)
    opener = RecordOpener(try RowKeys(source.keys), checksBounds: false)
    numbers = try NumberWalk(source.database, SQL.recordNumbers)
    rows = try source.database.statement(SQL.recordAlone).base
    bodies = try source.database.statement(SQL.body).base
  }

  // MARK: Collections

  /// Returns the collections with readable names.
  func readCollections(_ copier: RowCopier) throws(StoreError) -> [CollectionRecord] {
    // The table itself can be missing.
    guard let numbers = try? NumberWalk(source.database, SQL.collectionNumbers) else {
      isSummed = false
      return []
    }
    var collections: [CollectionRecord] = []
    while let number = try numbers.next() {
      if let collection = try readCollection(number) {
        collections.append(try histories.consistent(collection, copier))
      } else if !source.file.isSearched {
        isSummed = false
      }
    }
    isSummed = isSummed && numbers.holes.isEmpty
    return collections
  }

  /// Returns a collection, or `nil` if its row isn't authentic. After a merge, several collections can have one stored
  /// name.
  private func readCollection(_ number: Int64) throws(StoreError) -> CollectionRecord? {
    let database = source.database
    let keys = opener.keys
    let found = try database.reading { () throws(SQLiteError) in
      try database.connection.query(SQL.collection, number).rows
    }
    let rows = (found ?? []).compactMap { try? CollectionRow(columns: $0.values, generation: Self.limits.generation) }
    // Try every row, because a forged row can have a later revision than the sound row.
    var sound: CollectionRecord?
    let row = rows.first { row in
      sound = try? CollectionRecord(row, keys)
      return sound != nil
    }
    if let element = try? (row ?? (source.file.isSearched ? nil : rows.first))?.element(keys) { try add(element) }
    if let sound, !sound.isDropped { names.insert(Array(sound.name.utf8)) }
    return sound
  }

  /// Returns a collection with a unique name to replace its lost name.
  private func collection(named number: UInt32, _ copier: RowCopier) throws(StoreError) -> CollectionRecord {
    let name = unusedName("collection \(number)")
    namedByNumber.append(CollectionID(number))
    return try histories.consistent(
      CollectionRecord(
        id: number, revision: 1, name: name, settings: CollectionSettings(),
        uid: try opener.keys.collectionUID(named: name), dots: CollectionDots(copier.dot)),
      copier)
  }

  /// Returns an unused collection name for the caller to use.
  func unusedName(_ wanted: String) -> String {
    var name = wanted
    while !names.insert(Array(name.utf8)).inserted { name += "*" }
    return name
  }

  /// Adds the readable deletions, so they apply in merges of the new store.
  func copyDeletions(to target: StoreTransaction) throws(StoreError) {
    guard let numbers = try? NumberWalk(source.database, SQL.deletionNumbers) else {
      isSummed = false
      return
    }
    while let number = try numbers.next() {
      let database = source.database
      let found = try database.reading { () throws(SQLiteError) in
        try database.connection.query(SQL.deletion, number).rows
      }
      var record: DeletionRecord?
      let row = (found ?? []).compactMap { try? DeletionRow($0.values, generation: Self.limits.generation) }.first {
        row in
        record = try? DeletionRecord(row, opener.keys)
        return record != nil
      }
      guard let row, let record else {
        if !source.file.isSearched { isSummed = false }
        continue
      }
      try add(try row.element(opener.keys))
      deletionCount += 1
      guard histories.accepts(record) else { continue }
      try target.writer.insertDeletion(
        uid: record.uid, dots: record.dots, stamp: record.stamp, extensionBytes: record.extensionBytes)
    }
    isSummed = isSummed && numbers.holes.isEmpty
  }

  // MARK: Documents

  /// Encrypts the next sound documents into an emptied batch.
  ///
  /// - Returns: `false` if there were no more rows.
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
      } else if let number = nextCandidateID() {
        try listing(number) { () throws(StoreError) in try salvageStray(number, with: copier, into: batch) }
      } else {
        return looked > 1
      }
    }
    return true
  }

  /// Runs work on a document, and records the document as lost if it's damaged.
  private func listing(_ number: Int64, _ work: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try work()
    } catch {
      guard [.damaged, .tooLarge, .invalidArgument].contains(error.code) else { throw error }
      left.append(Verdict.Damage(id: DocumentID(number), reason: error.message))
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

  /// Returns a row, or `nil` if SQLite can't reach it.
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

  /// Returns the row with its body from either table, or `nil` if the body is missing.
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
    try translatingErrors { () throws(SealingError) in try opener.keys.summer.add(element, to: &set) }
  }

  func addAttachment(_ element: SetElement) throws(StoreError) {
    try add(element)
    attachmentCount += 1
  }

  /// Adds the row to the sum, then decrypts its head.
  func prove(_ row: RecordRow) throws(StoreError) -> HeadData {
    do throws(StoreError) {
      try add(try opener.element(of: row))
      count += 1
    } catch {
      isSummed = false
      throw error
    }
    let head = try opener.openHead(row, acceptsNewer: true)
    if (try? opener.requireBounds(row)) == nil || isBehindCursor(row.fields) { late.append(row.fields.id) }
    firstUnusedNumber = max(firstUnusedNumber, UInt64(row.fields.id) + 1)
    if let parent = row.fields.parent, parent < .max {
      firstUnusedNumber = max(firstUnusedNumber, UInt64(parent) + 1)
    }
    return head
  }

  /// Returns whether an unfinished rekey has passed the row but left it with an older epoch.
  private func isBehindCursor(_ fields: RowFields) -> Bool {
    guard let state = source.state else { return false }
    return fields.epoch < state.target && UInt64(fields.id) < state.cursor
  }

  func copy(
    _ row: RecordRow, _ head: HeadData, text: UnsafeRawBufferPointer, with copier: RowCopier, into batch: SealedBatch
  ) throws(StoreError) {
    if copier.collections[row.fields.collection] == nil {
      batch.newCollections.append(try copier.add(try collection(named: row.fields.collection, copier)))
    }
    try copier.copy(row, head, text: text, try histories.history(row, head, copier), at: nil, into: batch)
  }

  /// Whether all rows were read, according to the state.
  var isWhole: Bool {
    source.state.map {
      set == $0.set && count == $0.count && deletionCount == $0.deletionCount && attachmentCount == $0.attachmentCount
    } ?? false
  }

  // MARK: Lost documents, report

  private func isKnown(_ number: Int64) -> Bool { seen.contains(number) || found.contains(number) }

  /// Finds documents with a missing row through references in other tables.
  ///
  /// - Parameter goOn: Called periodically. If it throws, the search ends.
  func reportMissingDocuments(_ goOn: () throws -> Void) throws {
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
    // Read an index until it ends or breaks, but not more entries than fit in the file.
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

  func conclude(_ report: inout CopyReport) {
    report.leftOut = left
    report.namedByNumber = namedByNumber.sorted()
    report.problems = source.problems + problems
    for id in late.prefix(Self.listed) {
      report.problems.append(
        "document \(id) was written with old keys after these were replaced: look whether it is yours")
    }
    // Compare the set hash after the page search, because the found rows can complete the set.
    report.setMatches = source.state.map { _ in isSummed && isWhole }
    if report.setMatches == false, left.isEmpty {
      report.problems.append(StoreError.setMismatch.message)
    }
  }
}
