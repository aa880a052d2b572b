internal import CofferRecords
internal import CofferSQLite

/// An incoming document with the details that identify the stored document.
package struct Incoming {
  package var document: Document
  /// Whether the source gives the text. Otherwise, `document` has an empty text.
  var givesText = true
  /// Whether the title is for a new document only.
  var isUsualTitle = false
  /// Whether a new document's missing date is the current date, even if the other date is given.
  var hasSeparateDates = false
  /// The ID in the source.
  package var id: DocumentID?
  /// The document's number in its source, starting at 1.
  package var record: Int
  /// Whether a missing title means that the document is untitled.
  var isComplete = false
  /// Whether a missing parent means that the parent is unknown, so the stored parent is kept.
  var keepsParent = false
  /// The attachments, which are added to a stored document's attachments.
  package var attachments: [DraftAttachment] = []
  /// Whether the record only changes its given parts, even if other records replace whole documents.
  package var isPartial = false

  package init(
    document: Document, id: DocumentID? = nil, record: Int, isComplete: Bool = false, keepsParent: Bool = false
  ) {
    self.document = document
    self.id = id
    self.record = record
    self.isComplete = isComplete
    self.keepsParent = keepsParent
  }
}

extension Incoming {
  /// Creates an independent copy of a draft.
  package init(_ draft: DraftBatch.Draft, of batch: DraftBatch, keepingIDs: Bool) throws(StoreError) {
    func text(_ range: Range<Int>, _ part: String) throws(StoreError) -> String {
      // Check the text first, because sealed bytes that aren't valid UTF-8 could never be read.
      guard let text = String(validating: batch.bytes[range], as: UTF8.self) else {
        throw StoreError(.invalidArgument, "record \(draft.record): its \(part) is not UTF-8")
      }
      return text
    }
    var document = Document(text: try draft.text.map { range throws(StoreError) in try text(range, "text") } ?? "")
    document.title = if let title = draft.title { try text(title, "title") } else { nil }
    document.key = draft.key.map { DocumentKey(bytes: batch.bytes[$0]) }
    if let attributes = draft.attributes {
      document.attributes = Attributes(uncheckedCanonicalJSON: batch.bytes[attributes])
    }
    document.parent = keepingIDs ? draft.parent : nil
    document.created = draft.created
    document.modified = draft.modified
    document.isJSON = draft.isJSON
    self.init(
      document: document, id: keepingIDs ? draft.id : nil, record: draft.record, isComplete: draft.isComplete,
      keepsParent: !((draft.isComplete || draft.knowsParent) && keepingIDs))
    givesText = draft.text != nil
    isUsualTitle = draft.isUsualTitle
    hasSeparateDates = draft.hasSeparateDates
    attachments = Array(batch.attachments[draft.attachments])
  }
}

/// Updates stored documents from incoming documents, one at a time, or adds new documents in the source's order.
package struct Upsert {
  /// Returns the text that replaces a stored document, given the incoming text.
  package typealias Replacement = (String, StoredDocument) throws(StoreError) -> String

  package enum Outcome {
    case created(DocumentID)
    case updated(DocumentID)
    case unchanged(DocumentID)

    fileprivate var id: DocumentID {
      switch self {
      case .created(let id), .updated(let id), .unchanged(let id): id
      }
    }
  }

  let transaction: StoreTransaction
  let titleRule: TitleRule?
  let atTop: Bool
  /// Whether the incoming document is complete, so missing attributes are removed instead of kept.
  let replacesWhole: Bool
  private let replacement: Replacement?
  /// The position run for each collection's next new documents.
  private var positions: [UInt32: PositionRun] = [:]
  /// The parents to set at the end.
  package var laterParents = LaterParents()
  /// The number of added or replaced attachments.
  package private(set) var attached = 0

  package init(
    _ transaction: StoreTransaction, titleRule: TitleRule?, atTop: Bool, replacesWhole: Bool,
    replacement: Replacement? = nil
  ) {
    self.transaction = transaction
    self.replacement = replacement
    self.titleRule = titleRule
    self.atTop = atTop
    self.replacesWhole = replacesWhole
  }

  /// Updates `match` from the incoming document, or adds a new document if `match` is `nil`.
  package mutating func apply(
    _ incoming: Incoming, on match: DocumentHeader?, in record: CollectionRecord, keepingID: Bool
  ) throws(StoreError) -> Outcome {
    guard !incoming.attachments.isEmpty else {
      return try applyDocument(incoming, on: match, in: record, keepingID: keepingID)
    }
    let parents = laterParents
    do throws(StoreError) {
      // A caller may skip a record with an attachment that can't be read.
      return try expectingStoreErrors { () throws -> Outcome in
        try transaction.savepoint { () throws -> Outcome in
          let outcome = try applyDocument(incoming, on: match, in: record, keepingID: keepingID)
          let count = try transaction.editor.attach(incoming.attachments, to: outcome.id)
          attached += count
          if count > 0, case .unchanged(let id) = outcome { return .updated(id) }
          return outcome
        }
      }
    } catch {
      laterParents = parents
      throw error
    }
  }

  private mutating func applyDocument(
    _ incoming: Incoming, on match: DocumentHeader?, in record: CollectionRecord, keepingID: Bool
  ) throws(StoreError) -> Outcome {
    let rule = titleRule ?? record.titleRule
    guard let match else {
      var document = incoming.document
      if document.title == nil, !incoming.isComplete { document.title = rule.title(for: document) }
      if !incoming.hasSeparateDates { document.created = document.created ?? document.modified }
      let parent = try takeMissingParent(of: &document)
      let id = try transaction.editor.add(
        document, in: record, id: keepingID ? incoming.id : nil, titleRule: nil, requiringParent: false
      ) { () throws(StoreError) in try takePosition(in: record.id) }
      if let parent { laterParents.add(id, parent) }
      return .created(id)
    }
    let stored = try replacement == nil ? transaction.storedDocument(match.id) : transaction.storedValue(match.id)
    let old = stored.document
    var incoming = incoming
    if let replacement { incoming.document.text = try replacement(incoming.document.text, stored) }
    let replacesWhole = replacesWhole && !incoming.isPartial
    var document = replacesWhole ? whole(incoming, rule, old) : try updated(old, with: incoming, rule)
    // If the store doesn't keep titles, the title can't change.
    if transaction.keys.session.titles == .none { document.title = old.title }
    let parent = document.parent == old.parent ? nil : document.parent
    let isParentThere = if let parent { try transaction.hasRow(parent) } else { false }
    try transaction.editor.requireNoParentInOtherCollection(parent, of: match.id.rawValue, in: record.id)
    // The documents above a new parent can get other parents in the same work.
    if parent != nil { document.parent = old.parent }
    let (created, modified) = (document.created, document.modified)
    (document.created, document.modified) = (old.created, old.modified)
    if !isParentThere, document.isIdentical(to: old),
      replacesWhole || created == old.created && modified == old.modified
    {
      if let parent { laterParents.add(match.id, parent) }
      return .unchanged(match.id)
    }
    document.created = created
    document.modified = incoming.document.modified ?? .now()
    try transaction.editor.replace(stored, with: document, requiringParent: false)
    if let parent { laterParents.add(match.id, parent) }
    return .updated(match.id)
  }

  /// Returns a new document's parent that isn't there yet, and leaves the document without it.
  private func takeMissingParent(of document: inout Document) throws(StoreError) -> DocumentID? {
    guard let parent = document.parent, try !transaction.hasRow(parent) else { return nil }
    document.parent = nil
    return parent
  }

  /// Returns the incoming document, which replaces the stored document except for its key and creation date.
  private func whole(_ incoming: Incoming, _ rule: TitleRule, _ old: Document) -> Document {
    var document = incoming.document
    if document.title == nil, !incoming.isComplete { document.title = rule.title(for: document) }
    document.key = document.key ?? old.key
    if incoming.keepsParent { document.parent = document.parent ?? old.parent }
    document.created = document.created ?? document.modified ?? old.created
    return document
  }

  /// Returns the stored document with the parts that the incoming document gives. A title that the old text gave
  /// changes with the text.
  private func updated(_ old: Document, with incoming: Incoming, _ rule: TitleRule) throws(StoreError) -> Document {
    let given = incoming.document
    var document = old
    // A value's mark stays with its text.
    if incoming.givesText, given.isJSON || !given.text.utf8.elementsEqual(old.text.utf8) {
      (document.text, document.isJSON) = (given.text, given.isJSON)
      // The given attributes include a value's schema version, unless it's 1.
      document.attributes = CodableValues.attributes(of: old, with: given)
    }
    if let title = given.title, !incoming.isUsualTitle {
      document.title = title
    } else if replacement != nil {
      // A title derived from the old value is derived again from the new value.
      var former = old
      if old.title.isIdentical(to: old.titleInJSON) { former.title = nil }
      document.title = former.title ?? document.titleInJSON
      if document.title.isIdentical(to: former.title) { document.title = rule.title(for: document, insteadOf: former) }
    } else if old.title != nil || old.derivedTitle == nil {
      document.title = rule.title(for: document, insteadOf: old)
    }
    document.key = given.key ?? old.key
    document.parent = given.parent ?? old.parent
    document.created = given.created ?? old.created
    document.modified = given.modified ?? old.modified
    if let fault = given.attributes.fault { throw .refusedAttributes(fault) }
    document.attributes.merge(given.attributes)
    return document
  }

  private mutating func takePosition(in collection: UInt32) throws(StoreError) -> DocumentPosition {
    var run =
      if let begun = positions[collection] { begun } else { try transaction.order.run(in: collection, atTop: atTop) }
    defer { positions[collection] = run }
    return try run.take()
  }

  /// Returns the document with the given ID, or `nil` if it doesn't exist.
  ///
  /// - Throws: `alreadyExists` if the document is in another collection.
  package func match(_ id: DocumentID, in record: CollectionRecord) throws(StoreError) -> DocumentHeader? {
    guard try transaction.hasRow(id) else { return nil }
    let header = try transaction.header(of: id)
    guard header.collection.rawValue == record.id else {
      throw StoreError(.alreadyExists, "document \(id) is in another collection", documentID: id)
    }
    return header
  }

  /// Returns the document with the given key, or `nil` if it doesn't exist.
  package func match(_ key: DocumentKey, in record: CollectionRecord) throws(StoreError) -> DocumentHeader? {
    guard let id = try transaction.id(forKey: key, in: record) else { return nil }
    return try transaction.header(of: id)
  }

  /// Returns the first child of a parent, or the first document without a parent if `parent` is `nil`.
  package func firstSibling(below parent: DocumentID?, in record: CollectionRecord) throws(StoreError)
    -> DocumentHeader?
  {
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
  /// Whether the error concerns a single incoming document, so the others can continue.
  package var concernsSingleDocument: Bool {
    switch code {
    case .tooLarge, .invalidArgument, .duplicateKey, .alreadyExists, .noSuchFile: true
    default: false
    }
  }

  /// Returns the same error with the document's number in its source.
  package func of(record: Int) -> StoreError {
    StoreError(code, "record \(record): \(message)", hint: advice, documentID: documentID)
  }
}
