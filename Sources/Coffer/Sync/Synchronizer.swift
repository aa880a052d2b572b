internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// A synchronization of one collection, which upserts incoming documents and then handles stale documents.
///
/// Stores document IDs, but not texts.
final class Synchronizer {
  private(set) var report = SyncReport()
  /// The number of incoming documents.
  private(set) var count = 0
  private let transaction: StoreTransaction
  private let record: CollectionRecord
  private let options: SyncOptions
  private var upsert: Upsert
  /// The number of documents in the collection before the synchronization.
  private let before: Int
  private var seen: Set<Int64> = []
  /// The seen documents whose children the source described.
  private var described: Set<Int64> = []
  private var describesAllParents = false
  /// Whether an incoming document couldn't be identified.
  private var hasUnknown = false
  /// The unseen documents whose keys were given to others. Each must be seen later, or be removed.
  private var takenKeys: [DocumentID: DocumentKey] = [:]

  init(_ transaction: StoreTransaction, _ record: CollectionRecord, _ options: SyncOptions) throws(StoreError) {
    self.transaction = transaction
    self.record = record
    self.options = options
    upsert = Upsert(transaction, titleRule: options.titleRule, atTop: options.atTop, replacesWhole: true)
    before = try transaction.count(in: record)
  }

  // MARK: Incoming documents

  /// Applies an item and its descendants, parents first.
  func take(_ item: SyncItem) throws {
    var left: [(item: SyncItem, parent: DocumentID?)] = [(item, nil)]
    while let (item, parent) = left.popLast() {
      var incoming = Incoming(document: item.document, record: count + 1)
      incoming.document.parent = parent
      let identity = item.identity ?? item.document.key.map { .key($0) }
      if case .key(let key)? = identity { incoming.document.key = key }
      let id = try take(incoming) { () throws(StoreError) in
        switch identity {
        case .key(let key): return try upsert.match(key, in: record)
        case .singleton: return try upsert.firstSibling(below: parent, in: record)
        case .alwaysNew: return nil
        case nil: throw withoutIdentity
        }
      }
      guard let id, let children = item.children else { continue }
      described.insert(id.rawValue)
      for child in children.reversed() { left.append((child, id)) }
    }
  }

  /// Applies a document from a flat source, identified by its ID or key.
  ///
  /// - Parameter parts: Returns the parts of a record without a text, for a document to which they belong.
  func take(_ incoming: Incoming, parts: (DocumentHeader) throws -> Incoming?) throws {
    if incoming.document.parent != nil { describesAllParents = true }
    _ = try take(incoming, parts: parts) { () throws(StoreError) in
      if options.keepsIDs, let id = incoming.id { return try upsert.match(id, in: record) }
      guard let key = incoming.document.key else { throw withoutIdentity }
      return try upsert.match(key, in: record)
    }
  }

  private var withoutIdentity: StoreError {
    hasUnknown = true
    return StoreError(.invalidArgument, "the record has no key, so that no document can be matched to it")
  }

  /// Applies a document and returns its ID, or `nil` if its children are skipped.
  private func take(
    _ incoming: Incoming, parts: (DocumentHeader) throws -> Incoming? = { _ in nil },
    match find: () throws(StoreError) -> DocumentHeader?
  ) throws -> DocumentID? {
    var incoming = incoming
    count += 1
    if count & 0xFF == 0 { try options.progress?(WorkProgress(done: count)) }
    var match: DocumentHeader?
    do throws(StoreError) {
      match = try find()
    } catch {
      return try skip(incoming, nil, because: error)
    }
    if let match, let partial = try parts(match) { incoming = partial }
    do throws(StoreError) {
      if let match, !seen.insert(match.id.rawValue).inserted {
        // A repeated key may be another document's wrong key.
        hasUnknown = true
        let what = options.keepsIDs && incoming.id != nil ? "id" : "key"
        throw StoreError(
          .duplicateKey, "an earlier record of the input has the same \(what)", documentID: match.id)
      }
      if let reason = options.invalidReason?(incoming.document) { throw StoreError(.invalidArgument, reason) }
      if let match, takenKeys[match.id] == nil, options.isUnchanged?(match, incoming.document) == true {
        report.unchanged.append(match.id)
        return nil
      }
      switch try apply(incoming, on: match) {
      case .created(let id):
        seen.insert(id.rawValue)
        report.created.append(id)
        return id
      case .updated(let id):
        report.updated.append(id)
        return id
      case .unchanged(let id):
        report.unchanged.append(id)
        return id
      }
    } catch {
      return try skip(incoming, match, because: error)
    }
  }

  /// Applies a document. With IDs, it can have the key of a document that gets another key or is removed later, unless
  /// invalid documents are skipped.
  private func apply(_ incoming: Incoming, on match: DocumentHeader?) throws(StoreError) -> Upsert.Outcome {
    do throws(StoreError) {
      return try upsert.apply(incoming, on: match, in: record, keepingID: options.keepsIDs)
    } catch {
      guard error.code == .duplicateKey, options.keepsIDs, !options.skipsInvalid, let key = incoming.document.key,
        let holder = try upsert.match(key, in: record), holder.id != match?.id, !seen.contains(holder.id.rawValue)
      else { throw error }
      try setKey(nil, of: holder.id)
      takenKeys[holder.id] = key
      do throws(StoreError) {
        return try upsert.apply(incoming, on: match, in: record, keepingID: options.keepsIDs)
      } catch {
        takenKeys[holder.id] = nil
        try setKey(key, of: holder.id)
        throw error
      }
    }
  }

  private func setKey(_ key: DocumentKey?, of id: DocumentID) throws(StoreError) {
    let stored = try transaction.storedDocument(id)
    var document = stored.document
    document.key = key
    try transaction.editor.replace(stored, with: document, requiringParent: false)
  }

  /// Lists an invalid document, or throws the error.
  private func skip(
    _ incoming: Incoming, _ match: DocumentHeader?, because error: StoreError
  ) throws(StoreError) -> DocumentID? {
    guard options.skipsInvalid, error.concernsSingleDocument else { throw error.of(record: incoming.record) }
    report.invalid.append(SyncReport.Invalid(record: incoming.record, id: match?.id, reason: error.message))
    if options.removesInvalid, error.code == .invalidArgument, let match {
      try removeTree(match.id, because: .invalid(error.message))
    }
    return nil
  }

  // MARK: Stale documents

  func finish() throws(StoreError) {
    try removeStale()
    for id in takenKeys.keys.sorted() where !seen.contains(id.rawValue) {
      guard try transaction.hasRow(id) else { continue }
      throw .keyTaken(by: id)
    }
  }

  private func removeStale() throws(StoreError) {
    report.attachments = upsert.attached
    _ = try upsert.laterParents.resolve(transaction, ignoringInvalid: options.skipsInvalid)
    let rows = try Rows(transaction, record)
    let stale = rows.ids.filter { !seen.contains($0) && !isKept($0, rows) }
    guard case .remove(let fraction) = options.stale else {
      report.stale = stale.map { DocumentID($0) }
      return
    }
    guard !hasUnknown, options.isSourceWhole?() ?? true else {
      report.stale = stale.map { DocumentID($0) }
      report.removalWasWithheld = true
      return
    }
    guard Double(stale.count) <= fraction * Double(before) else {
      let percent = (fraction * 10_000).rounded() / 100
      let allowed = Int(exactly: percent).map(String.init) ?? "\(percent)"
      throw StoreError(
        .removalRefused,
        "\(stale.count) of \(before) document\(before == 1 ? "" : "s") would be removed, more than the allowed \(allowed) %",
        hint: "look at what the source gave; allow more if that is right")
    }
    let gone = Set(stale)
    for id in rows.ids where seen.contains(id) {
      // Keep incoming documents, even below a stale document.
      guard let parent = rows.parents[id], gone.contains(parent) else { continue }
      try transaction.writer.setParent(of: DocumentID(id), to: nil)
    }
    for id in stale {
      try transaction.writer.delete(DocumentID(id), in: record.id)
      let isBelow = rows.parents[id].map { gone.contains($0) } ?? false
      report.deleted.append(
        SyncReport.Deletion(id: DocumentID(id), reason: isBelow ? .parentDeleted : .stale))
    }
  }

  /// Returns whether a stale document is kept because the source didn't describe its nearest seen ancestor's children.
  private func isKept(_ id: Int64, _ rows: Rows) -> Bool {
    guard !describesAllParents else { return false }
    var id = id
    // Limit the loop to the number of rows, because a hostile store can contain a cycle.
    for _ in 0...rows.ids.count {
      guard let parent = rows.parents[id] else { return false }
      if seen.contains(parent) { return !described.contains(parent) }
      id = parent
    }
    return false
  }

  private func removeTree(_ root: DocumentID, because reason: SyncReport.DeletionReason) throws(StoreError) {
    let rows = try Rows(transaction, record)
    let children = rows.children
    var gone: Set<Int64> = [root.rawValue]
    var order = [root.rawValue]
    var next = 0
    while next < order.count {
      // Keep incoming documents, even below a removed document.
      for child in children[order[next]] ?? [] where !seen.contains(child) && gone.insert(child).inserted {
        order.append(child)
      }
      next += 1
    }
    for id in rows.ids where seen.contains(id) && !gone.contains(id) {
      guard let parent = rows.parents[id], gone.contains(parent) else { continue }
      try transaction.writer.setParent(of: DocumentID(id), to: nil)
    }
    for id in order.reversed() {
      try transaction.writer.delete(DocumentID(id), in: record.id)
      report.deleted.append(
        SyncReport.Deletion(id: DocumentID(id), reason: id == root.rawValue ? reason : .parentDeleted))
      seen.remove(id)
    }
  }

  /// The collection's documents and parents, read without verification. Documents are verified when they're deleted.
  private struct Rows {
    var ids: [Int64] = []
    var parents: [Int64: Int64] = [:]

    init(_ transaction: StoreTransaction, _ record: CollectionRecord) throws(StoreError) {
      let statement = try transaction.database.statement(SQL.idsAndParents, Int64(record.id))
      defer { statement.reset() }
      while try statement.step() {
        ids.append(statement.int64(at: 0))
        if !statement.isNull(at: 1) { parents[statement.int64(at: 0)] = statement.int64(at: 1) }
      }
    }

    var children: [Int64: [Int64]] {
      Dictionary(grouping: ids.filter { parents[$0] != nil }) { parents[$0]! }
    }
  }
}
