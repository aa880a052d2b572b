internal import CofferDocuments
internal import CofferRecords
internal import CofferSealing

/// A walk over all rows of a transaction that computes the content hash from the heads, on several threads (FORMAT,
/// "Content hash").
struct ContentWalk {
  /// The contents of a store.
  struct Contents {
    /// The SHA-256 of the sum.
    var digest: [UInt8] = []
    var documents = 0
    var collections = 0
    /// The summed rows.
    var rows: RowProof
    /// The reason why two stores with this content hash could read differently, or `nil`.
    var ambiguity: String?
  }

  private static let batchCount = 4

  private let transaction: StoreTransaction
  private let progress: ProgressHandler?
  private var sum = SetHash()
  private var rows = RowProof.Rows()
  private var lineage: [ContentRows.Lineage] = []

  private init(_ transaction: StoreTransaction, _ progress: ProgressHandler?) {
    (self.transaction, self.progress) = (transaction, progress)
  }

  /// Walks all rows.
  ///
  /// - Throws: `damaged`, or `otherFormat` for a row of a later version.
  static func contents(of transaction: StoreTransaction, progress: ProgressHandler? = nil) throws(StoreError)
    -> Contents
  {
    var walk = ContentWalk(transaction, progress)
    return try walk.run()
  }

  private mutating func run() throws(StoreError) -> Contents {
    var collectionRows = RowProof.Rows()
    for row in try transaction.connection.collections.rows(within: transaction.limits) {
      collectionRows.append(Int64(row.id), try row.element(transaction.keys))
    }
    let elements = try ContentElements(transaction.keys.session)
    var listed: [CollectionRecord] = []
    for record in try transaction.storedCollections() {
      if record.isDropped, try transaction.database.integer(SQL.hasDocuments, Int64(record.id)) == nil { continue }
      listed.append(record)
      try add(try elements.element(of: record))
    }
    var (attachmentRows, attachments) = (RowProof.Rows(), [Int64: [(uid: UniqueID, part: [UInt8])]]())
    try transaction.forEachAttachmentRow { row throws(StoreError) in
      let record = try transaction.attachmentRecord(row)
      attachmentRows.append(row.number, try row.element(transaction.keys))
      attachments[row.document, default: []].append((record.uid, ContentElements.part(of: record)))
    }
    let parts = attachments.mapValues { $0.sorted { $0.uid < $1.uid }.map(\.part) }
    try walkDocuments(Dictionary(uniqueKeysWithValues: listed.map { ($0.id, $0.uid) }), parts)
    if let stray = Set(attachments.keys).subtracting(lineage.map(\.id)).min() {
      throw .damagedStore("an attachment belongs to document \(stray), which is missing")
    }
    let digest = try translatingErrors { () throws(SealingError) in try sum.digest() }
    return Contents(
      digest: digest, documents: lineage.count, collections: listed.count,
      rows: RowProof(documents: rows, collections: collectionRows, attachments: attachmentRows),
      ambiguity: ambiguity(of: listed))
  }

  private mutating func add(_ element: SetElement) throws(StoreError) {
    try translatingErrors { () throws(SealingError) in try transaction.keys.summer.add(element, to: &sum) }
  }

  private mutating func walkDocuments(_ collections: [UInt32: UniqueID], _ attachments: [Int64: [[UInt8]]])
    throws(StoreError)
  {
    let statement = try transaction.database.statement(SQL.allRecords)
    defer { statement.reset() }
    let session = transaction.keys.session
    var last: Int64 = 0
    let conveyor = Conveyor<RowBatch<ContentRows>>(limit: Self.batchCount, workers: .any) { $0.process() }
    try conveyor.run(
      make: { () throws(StoreError) in RowBatch(try ContentRows(session, collections, attachments)) },
      fill: { batch throws(StoreError) in
        batch.fill { () throws(StoreError) in
          try transaction.requireOpen()
          guard try statement.step() else { return nil }
          let id = statement.int64(at: 0)
          // A row that a page returns 2^16 times would vanish from the sum.
          guard id > last else { throw .damagedDocument(id, "it is not in its order") }
          last = id
          return try RecordRow(statement.columns(), within: transaction.limits)
        }
      },
      take: { batch throws(StoreError) in
        try batch.takeRows { work, _ throws(StoreError) in try take(work) }
        try WorkProgress(done: lineage.count, total: max(lineage.count, Int(clamping: transaction.state.count))).tell(
          progress, stopped: "reading the store's contents was stopped; nothing was changed")
      })
  }

  private mutating func take(_ work: ContentRows) throws(StoreError) {
    if let failure = work.failure { throw failure }
    sum.add(work.set)
    for (id, element) in work.elements { rows.append(id, element) }
    lineage += work.lineage
  }

  /// Returns the first visible value that the content hash doesn't contain, because it doesn't follow from the hashed
  /// values.
  private func ambiguity(of collections: [CollectionRecord]) -> String? {
    guard Set(collections.map { Array($0.storedName.utf8) }).count == collections.count else {
      return "two collections have the same name"
    }
    if let held = lineage.first(where: \.isKeyHeldElsewhere) {
      return "document \(held.id) has the key of another document"
    }
    guard lineage.contains(where: { $0.parent != nil || $0.parentID != nil }) else { return nil }
    let ids = Dictionary(lineage.map { ($0.uid, $0) }, uniquingKeysWith: { first, _ in first })
    let known = Set(lineage.map(\.id))
    for document in lineage {
      let parent = document.parent.flatMap { ids[$0] }
      if let parent, parent.collection == document.collection {
        guard document.parentID == parent.id else { return "document \(document.id) isn't below its parent" }
      } else if let stored = document.parentID, known.contains(stored) {
        return "document \(document.id) is below another document than its parent"
      }
    }
    return nil
  }
}

/// Opens rows, and sums their elements of the content hash.
private final class ContentRows: RowWork {
  /// What the parents and keys of documents are compared by.
  struct Lineage {
    let id: Int64
    let uid: UniqueID
    let collection: UInt32
    let parent: UniqueID?
    let parentID: Int64?
    let isKeyHeldElsewhere: Bool
  }

  private(set) var set = SetHash()
  /// The elements of the set hash, which cover whole rows.
  private(set) var elements: [(Int64, SetElement)] = []
  private(set) var lineage: [Lineage] = []
  private(set) var failure: StoreError?
  private let opener: RecordOpener
  private let content: ContentElements
  private let collections: [UInt32: UniqueID]
  private let attachments: [Int64: [[UInt8]]]

  init(_ session: SessionKeys, _ collections: [UInt32: UniqueID], _ attachments: [Int64: [[UInt8]]])
    throws(StoreError)
  {
    opener = RecordOpener(try RowKeys(session))
    content = try ContentElements(session)
    (self.collections, self.attachments) = (collections, attachments)
  }

  func begin() {
    set = SetHash()
    elements.removeAll(keepingCapacity: true)
    lineage.removeAll(keepingCapacity: true)
    failure = nil
  }

  func end() {}

  func process(
    _ row: RecordRow, at index: Int, head frame: UnsafeMutableRawBufferPointer?, body: UnsafeMutableRawBufferPointer?
  ) -> Bool {
    do throws(StoreError) {
      let fields = row.fields
      // Compute the element first, because opening the head can overwrite its seal.
      elements.append((fields.id, try opener.element(of: row)))
      let head = try opener.openHead(row, in: frame)
      guard let collection = collections[fields.collection] else {
        throw .damagedDocument(fields.id, "its collection is gone")
      }
      let element = try content.element(of: row, head, in: collection, attachments: attachments[fields.id] ?? [])
      try translatingErrors { () throws(SealingError) in try opener.keys.summer.add(element, to: &set) }
      lineage.append(
        Lineage(
          id: fields.id, uid: head.uid, collection: fields.collection, parent: head.parent, parentID: fields.parent,
          isKeyHeldElsewhere: fields.isKeyHeldElsewhere))
      return true
    } catch {
      failure = error
      return false
    }
  }
}
