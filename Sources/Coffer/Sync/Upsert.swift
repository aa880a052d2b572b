internal import CofferRecords
internal import CofferSQLite

/// An incoming document, with the details that identify the stored one.
struct Incoming {
  var document: Document
  /// The id in the source.
  var id: DocumentID?
  /// Its number in its source, from 1.
  var record: Int
  /// A missing title means that it has none.
  var isComplete = false
  /// A missing parent means that the parent is unknown.
  var keepsParent = false
}

extension Incoming {
  /// A separate copy of a draft, out of its batch.
  init(_ draft: DraftBatch.Draft, of batch: DraftBatch, keepingIDs: Bool) throws(StoreError) {
    func text(_ range: Range<Int>, _ part: String) throws(StoreError) -> String {
      // Bytes that are no text would be sealed and could never be read again.
      guard let text = String(validating: batch.bytes[range], as: UTF8.self) else {
        throw StoreError(.invalidArgument, "record \(draft.record): its \(part) is not UTF-8")
      }
      return text
    }
    var document = Document(text: try text(draft.text, "text"))
    document.title = if let title = draft.title { try text(title, "title") } else { nil }
    document.key = draft.key.map { ExternalKey(bytes: batch.bytes[$0]) }
    if let attributes = draft.attributes {
      document.attributes = Attributes(uncheckedCanonicalJSON: batch.bytes[attributes])
    }
    document.parent = keepingIDs ? draft.parent : nil
    document.created = draft.created ?? draft.modified
    document.modified = draft.modified
    document.isJSON = draft.isJSON
    self.init(
      document: document, id: keepingIDs ? draft.id : nil, record: draft.record, isComplete: draft.isComplete,
      keepsParent: !(draft.isComplete && keepingIDs))
  }
}

/// Upserts incoming documents, one at a time: updates the stored one, or adds a new one in the source's order.
struct Upsert {
  enum Outcome {
    case created(DocumentID)
    case updated(DocumentID)
    case unchanged(DocumentID)
  }

  let transaction: StoreTransaction
  let titleRule: TitleRule?
  let atTop: Bool
  /// The incoming document is complete: attributes that it does not give are removed. Otherwise they are kept.
  let replacesWhole: Bool
  /// The position run for the next new document of each collection.
  private var positions: [UInt32: PositionRun] = [:]

  init(_ transaction: StoreTransaction, titleRule: TitleRule?, atTop: Bool, replacesWhole: Bool) {
    self.transaction = transaction
    self.titleRule = titleRule
    self.atTop = atTop
    self.replacesWhole = replacesWhole
  }

  /// Updates the document `match` from the incoming one, or adds that if `match` is nil.
  mutating func apply(
    _ incoming: Incoming, on match: DocumentHeader?, in record: CollectionRecord, keepingID: Bool
  ) throws(StoreError) -> Outcome {
    var document = incoming.document
    if document.title == nil, !incoming.isComplete {
      document.title = (titleRule ?? record.titleRule).title(for: document)
    }
    guard let match else {
      let id = try transaction.add(
        document, in: record, id: keepingID ? incoming.id : nil, titleRule: nil, requiringParent: false
      ) { () throws(StoreError) in try takePosition(in: record.id) }
      return .created(id)
    }
    let stored = try transaction.storedDocument(match.id)
    let old = stored.document
    document.key = document.key ?? old.key
    if incoming.keepsParent { document.parent = document.parent ?? old.parent }
    if !replacesWhole {
      if document.attributes.isEmpty { document.attributes = old.attributes }
      if !incoming.isComplete { document.title = document.title ?? old.title }
    }
    let modified = document.modified
    (document.created, document.modified) = (old.created, old.modified)
    if document.isIdentical(to: old) { return .unchanged(match.id) }
    document.created = incoming.document.created ?? old.created
    document.modified = modified ?? .now()
    try transaction.replace(stored, with: document, requiringParent: false)
    return .updated(match.id)
  }

  private mutating func takePosition(in collection: UInt32) throws(StoreError) -> Int64 {
    var run =
      if let begun = positions[collection] { begun } else { try transaction.run(in: collection, atTop: atTop) }
    defer { positions[collection] = run }
    return try run.take()
  }

  /// The document of that id.
  ///
  /// - Throws: `alreadyExists` if it is in another collection.
  func match(_ id: DocumentID, in record: CollectionRecord) throws(StoreError) -> DocumentHeader? {
    guard try transaction.hasRow(id) else { return nil }
    let header = try transaction.header(of: id)
    guard header.collection.rawValue == record.id else {
      throw StoreError(.alreadyExists, "document \(id) is in another collection", documentID: id)
    }
    return header
  }

  /// The document with that key.
  func match(_ key: ExternalKey, in record: CollectionRecord) throws(StoreError) -> DocumentHeader? {
    guard let id = try transaction.id(forKey: key, in: record) else { return nil }
    return try transaction.header(of: id)
  }

  /// The first document below that parent, or below none.
  func firstSibling(below parent: DocumentID?, in record: CollectionRecord) throws(StoreError) -> DocumentHeader? {
    guard let id = try transaction.database.integer(SQL.firstBelow, Int64(record.id), parent?.rawValue) else {
      return nil
    }
    let header = try transaction.header(of: DocumentID(id))
    guard header.parent == parent, header.collection.rawValue == record.id else {
      throw .damagedDocument(id, "its parent is not the one that was written")
    }
    return header
  }
}

extension StoreError {
  /// Whether the error is about one incoming document, so that others can continue.
  var isOfOneDocument: Bool {
    switch code {
    case .tooLarge, .invalidArgument, .duplicateKey, .alreadyExists: true
    default: false
    }
  }

  /// The same error, naming the number of the document in its source.
  func of(record: Int) -> StoreError {
    StoreError(code, "record \(record): \(message)", hint: advice, documentID: documentID)
  }
}
