internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// The documents that an export copies, sorted by id, each verified before it is sealed again.
///
/// Walks the table, not an index: rows are read in the order of the file, and no index can hide any. Only one thread at
/// a time uses it and the connection of its transaction.
final class ExportWalk {
  /// The copied collections, sorted by number.
  let collections: [CollectionRecord]
  /// The expected number of documents.
  let expected: Int
  private(set) var parentsDropped = 0

  private let transaction: StoreTransaction
  private let keepsParents: Bool
  private let opener: RecordOpener
  /// The numbers of the copied collections; nil copies all.
  private let numbers: Set<UInt32>?
  /// Ids left to copy, in falling order; nil copies all documents of the collections.
  private var wanted: [Int64]?
  private let wantedSet: Set<Int64>
  private let rows: StoreStatement
  private let collectionOf: StoreStatement
  private var last: Int64 = 0
  /// The set hash and number of the rows so far; nil if only some are copied.
  private var sum: (set: SetHash, count: UInt64)?
  private var isAtEnd = false

  /// - Parameter keepsParents: whether a document names its parent even where that one was deleted.
  /// - Throws: `noSuchDocument`.
  init(_ transaction: StoreTransaction, _ selection: ExportSelection, keepingParents keepsParents: Bool = false)
    throws(StoreError)
  {
    self.transaction = transaction
    self.keepsParents = keepsParents
    opener = RecordOpener(transaction.keys)
    let known = try transaction.collections()
    var ids: Set<Int64>?
    switch selection {
    case .everything:
      collections = known
    case .collections(let names):
      var chosen: Set<UInt32> = []
      for name in names {
        if let record = try transaction.collection(named: name.name) { chosen.insert(record.id) }
      }
      collections = known.filter { chosen.contains($0.id) }
    case .documents(let documents):
      var chosen: Set<UInt32> = []
      for id in documents {
        chosen.insert(
          try transaction.reading { reader throws(StoreError) in
            try reader.row(id, withBody: false, within: transaction.limits).fields.collection
          })
      }
      collections = known.filter { chosen.contains($0.id) }
      ids = Set(documents.map(\.rawValue))
    }
    wantedSet = ids ?? []
    wanted = ids?.sorted(by: >)
    if let ids {
      expected = ids.count
    } else if case .everything = selection {
      expected = Int(transaction.state.count)
    } else {
      var count = 0
      for collection in collections { count += try transaction.count(in: collection) }
      expected = count
    }
    // A row whose collection is missing must not be left out silently.
    numbers = if case .collections = selection { Set(collections.map(\.id)) } else { nil }
    if case .everything = selection {
      var set = SetHash()
      for row in try transaction.connection.collections.rows(within: transaction.limits) {
        try Self.add(try row.element(transaction.keys), to: &set, transaction.keys)
      }
      sum = (set, 0)
    }
    rows = try transaction.database.statement(ids == nil ? SQL.allWithBody : SQL.recordWithBody)
    collectionOf = try transaction.database.statement(SQL.collectionOf)
  }

  /// Writes everything into a transaction of the new store, or of an emptied editable copy.
  func write(
    into target: StoreTransaction, from source: StoreTransaction, as kind: StoreOrigin.Kind,
    _ report: inout ExportReport, _ progress: ProgressHandler?
  ) throws {
    let copier = try RowCopier(into: target, keepingStamps: kind == .editableCopy)
    for collection in collections { try target.writer.insertCollection(copier.add(collection)) }
    try target.setOrigin(try source.origin(as: kind))
    try target.insert(
      readBy: { _ in () }, sealedBy: { batch, _ in try self.fill(batch, with: copier) },
      refused: { row, error in throw row.refusal(error) },
      inserted: { batch in
        report.documents += batch.rows.count
        try progress?(WorkProgress(done: report.documents, total: max(report.documents, expected)))
      })
    try requireWhole()
    try target.copyIndexes(of: source.indexDeclaration())
    if kind == .editableCopy { try target.writer.reserveIDs(through: target.state.firstOwnID - 1) }
    report.parentsDropped = parentsDropped
  }

  /// Seals the next documents into an emptied batch.
  ///
  /// - Returns: false if there were no more.
  func fill(_ batch: SealedBatch, with copier: RowCopier) throws(StoreError) -> Bool {
    while !RowCopier.isFull(batch), try step() {
      try transaction.requireOpen()
      let row = try RecordRow(rows.columns(), within: transaction.limits)
      guard numbers?.contains(row.fields.collection) ?? true else { continue }
      if sum != nil {
        try Self.add(try opener.element(of: row), to: &sum!.set, opener.keys)
        sum!.count += 1
      }
      let head = try opener.openHead(row)
      let text = try opener.openBody(row, head)
      try copier.copy(row, head, text: text, parent: try parent(of: row), into: batch)
    }
    try copier.finish(batch)
    return !batch.rows.isEmpty
  }

  private static func add(_ element: SetElement, to set: inout SetHash, _ keys: RowKeys) throws(StoreError) {
    try sealing { () throws(SealingError) in try keys.summer.add(element, to: &set) }
  }

  /// Requires, after the last document of a whole export, that the rows were those that were written.
  ///
  /// - Throws: `setMismatch`.
  func requireWhole() throws(StoreError) {
    guard let sum else { return }
    guard sum.set == transaction.state.set, sum.count == transaction.state.count else { throw .setMismatch }
  }

  /// Steps to the next row.
  private func step() throws(StoreError) -> Bool {
    if wanted != nil {
      guard let id = wanted?.popLast() else { return false }
      rows.reset()
      try rows.bind(id, at: 1)
      guard try rows.step() else { throw .noSuchDocument(DocumentID(id)) }
      return true
    }
    // A statement that is stepped after its end starts over.
    guard !isAtEnd, try rows.step() else {
      isAtEnd = true
      return false
    }
    // A ring of pages would give the same rows again and again.
    let id = rows.int64(at: 0)
    guard id > last else { throw .damagedDocument(id, "it is not in its order") }
    last = id
    return true
  }

  /// The parent, if it is exported too.
  private func parent(of row: RecordRow) throws(StoreError) -> Int64? {
    guard let parent = row.fields.parent, !keepsParents else { return row.fields.parent }
    let comes: Bool
    if wanted != nil {
      comes = wantedSet.contains(parent)
    } else {
      collectionOf.reset()
      try collectionOf.bind(parent, at: 1)
      comes =
        try collectionOf.step() && numbers?.contains(UInt32(clamping: collectionOf.int64(at: 0))) ?? true
    }
    if !comes { parentsDropped += 1 }
    return comes ? parent : nil
  }
}
