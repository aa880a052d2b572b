internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import CofferSearch

/// The selected documents in ID order, each verified before it's reencrypted.
///
/// Reads the table in file order instead of an index, because an index can omit rows. Use a walk and its transaction's
/// connection on one thread at a time.
final class CopyWalk {
  /// The copied collections, sorted by number.
  let collections: [CollectionRecord]
  /// The expected number of documents.
  let expected: Int
  private(set) var parentsDropped = 0

  private let transaction: StoreTransaction
  private let lineage: RowCopier.Lineage
  private let opener: RecordOpener
  /// The copied collections' numbers, or `nil` to copy all.
  private let numbers: Set<UInt32>?
  /// The remaining IDs in descending order, or `nil` to copy every document in the collections.
  private var wanted: [Int64]?
  private let wantedSet: Set<Int64>
  private let rows: StoreStatement
  private let collectionOf: StoreStatement
  private var last: Int64 = 0
  /// The sum of the rows so far, or `nil` for a partial copy.
  private var sum: StoreTransaction.RowSum?
  private var isAtEnd = false
  /// The new positions, or `nil` if documents keep theirs.
  private var order: CopiedOrder?

  /// - Throws: `noSuchDocument`.
  init(_ transaction: StoreTransaction, _ selection: Selection, _ lineage: RowCopier.Lineage = .new)
    throws(StoreError)
  {
    self.transaction = transaction
    self.lineage = lineage
    opener = RecordOpener(transaction.keys)
    let known = try lineage.isKept ? transaction.storedCollections() : transaction.collections()
    // Every copy has the migrations that its documents went through.
    let migrations = try transaction.storedCollections().filter { record in
      record.holdsMigrations && !record.isDropped && !known.contains { $0.id == record.id }
    }
    var ids: Set<Int64>?
    switch selection {
    case .everything:
      collections = (known + migrations).sorted { $0.id < $1.id }
    case .collections(let names):
      var chosen: Set<UInt32> = []
      for name in names {
        if let record = try transaction.collection(named: name.name) { chosen.insert(record.id) }
      }
      collections = (known.filter { chosen.contains($0.id) } + migrations).sorted { $0.id < $1.id }
    case .documents(let documents):
      var chosen: Set<UInt32> = []
      for id in documents {
        chosen.insert(
          try transaction.reading { reader throws(StoreError) in
            try reader.row(id, withBody: false, within: transaction.limits).fields.collection
          })
      }
      collections = (known.filter { chosen.contains($0.id) } + migrations).sorted { $0.id < $1.id }
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
    // Don't filter by collection otherwise, so a row with a missing collection causes an error.
    numbers = if case .collections = selection { Set(collections.map(\.id)) } else { nil }
    if case .everything = selection {
      sum = try transaction.sumWithoutDocuments()
    }
    rows = try transaction.database.statement(ids == nil ? SQL.allWithBody : SQL.recordWithBody)
    collectionOf = try transaction.database.statement(SQL.collectionOf)
  }

  /// Writes all rows to a new store or an emptied editable copy.
  func write(
    into target: StoreTransaction, from source: StoreTransaction, _ progress: ProgressHandler?
  ) throws -> CopyReport {
    var report = CopyReport(target)
    let copier = try RowCopier(into: target, lineage)
    try target.writer.keepsOwnRange = lineage.isKept
    for collection in collections { try target.writer.insertCollection(copier.add(collection)) }
    if !lineage.isKept {
      order = try CopiedOrder(source, newTag: { () throws(StoreError) in try target.keys.newPositionTag() }) {
        (wanted == nil || wantedSet.contains($0)) && numbers?.contains($1) ?? true
      }
    }
    if lineage.isKept {
      try DeletionWalk.forEach(source.database, within: source.limits) { row throws(StoreError) in
        let deletion = try DeletionRecord(row, source.keys)
        let (dots, stamp) = try copier.copy(deletion)
        try target.writer.insertDeletion(
          uid: deletion.uid, dots: dots, stamp: stamp, extensionBytes: deletion.extensionBytes)
      }
    }
    try RowInsertion(target).run(
      readBy: { _ in () }, sealedBy: { batch, _ in try self.fill(batch, with: copier) },
      refused: { row, error in throw row.refusal(error) },
      inserted: { batch in
        report.documents += batch.rows.count
        try progress?(WorkProgress(done: report.documents, total: max(report.documents, expected)))
      })
    try requireWhole()
    let copied = report.documents
    report.attachments = try copyAttachments(to: target, from: source, copier) { () throws(StoreError) in
      try WorkProgress(done: copied, total: max(copied, self.expected))
        .tell(progress, stopped: StagedFile.copyStopped)
    }
    try StoreIndexes(target).copy(of: StoreIndexes(source).declaration())
    if lineage.isKept {
      try target.writer.reserveIDs(through: source.state.bound - 1)
      // All rows in this generation came from the other store.
      try target.writer.changeReplicas { _ throws(StoreError) in }
    }
    report.parentsDropped = parentsDropped
    report.expected = expected
    if sum != nil { report.setMatches = true }
    return report
  }

  /// Copies the attachments of the copied documents, and returns their number.
  private func copyAttachments(
    to target: StoreTransaction, from source: StoreTransaction, _ copier: RowCopier,
    advance: @escaping () throws(StoreError) -> Void
  ) throws(StoreError) -> Int {
    var count = 0
    let attachments = AttachmentCopier(from: source, to: target, advance: advance)
    try source.forEachAttachmentRow { row throws(StoreError) in
      guard try target.hasRow(DocumentID(row.document)) else { return }
      let record = try AttachmentRecord(row, source.keys)
      try attachments.copy(record, to: DocumentID(row.document), as: copier.names(of: record))
      count += 1
    }
    return count
  }

  /// Encrypts the next documents into an emptied batch.
  ///
  /// - Returns: `false` if there were no more documents.
  func fill(_ batch: SealedBatch, with copier: RowCopier) throws(StoreError) -> Bool {
    while !RowCopier.isFull(batch), try step() {
      try transaction.requireOpen()
      let row = try RecordRow(rows.columns(), within: transaction.limits)
      guard numbers?.contains(row.fields.collection) ?? true else { continue }
      if sum != nil {
        try Self.add(try opener.element(of: row), to: &sum!.set, opener.keys)
        sum!.count += 1
      }
      let head = try opener.openHead(row, acceptsNewer: true)
      // Sealing compares the digest.
      let text = try opener.openBody(row, head, comparesDigest: false)
      var history = try copier.history(of: head)
      if try !bringsParent(of: row) { history.parent = nil }
      try copier.copy(row, head, text: text, history, at: order?.position(of: row), into: batch)
    }
    try copier.finish(batch)
    return !batch.rows.isEmpty
  }

  private static func add(_ element: SetElement, to set: inout SetHash, _ keys: RowKeys) throws(StoreError) {
    try translatingErrors { () throws(SealingError) in try keys.summer.add(element, to: &set) }
  }

  /// Verifies a complete copy's rows against the set hash and count, and the order of all rows.
  ///
  /// - Throws: `setMismatch` or `damaged`.
  package func requireWhole() throws(StoreError) {
    if let sum {
      guard transaction.isWhole(sum) else { throw .setMismatch }
    }
    try order?.requireProof()
  }

  private func step() throws(StoreError) -> Bool {
    if wanted != nil {
      guard let id = wanted?.popLast() else { return false }
      rows.reset()
      try rows.bind(id, at: 1)
      guard try rows.step() else { throw .noSuchDocument(DocumentID(id)) }
      return true
    }
    // Don't step a finished statement, because that would restart it.
    guard !isAtEnd, try rows.step() else {
      isAtEnd = true
      return false
    }
    // Require ascending IDs, because a cycle of pages would repeat rows forever.
    let id = rows.int64(at: 0)
    guard id > last else { throw .damagedDocument(id, "it is not in its order") }
    last = id
    return true
  }

  /// Returns whether the document keeps its parent, which a plain copy must contain.
  private func bringsParent(of row: RecordRow) throws(StoreError) -> Bool {
    guard let parent = row.fields.parent, !lineage.isKept else { return lineage.isKept }
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
    return comes
  }
}

extension RowCopier.Lineage {
  fileprivate var isKept: Bool {
    switch self {
    case .new: false
    case .kept: true
    }
  }
}
