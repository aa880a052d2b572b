internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import CofferText

/// The first stage of bulk work, which reads drafts, assigns IDs and positions, and seals rows on a separate thread.
///
/// Only that thread uses the stage while the conveyor runs. Each batch carries all data for the other thread.
package final class SealingStage {
  private struct Target {
    var record: CollectionRecord
    var positions: PositionRun
    var count = 0
  }

  private var nextID: UInt64
  package private(set) var parentsDropped = 0
  private let options: BulkOptions
  private let keys: RowKeys
  private var sealer: RecordSealer
  private let revision: UInt64
  private let dots: [UInt8]
  private let defaultName: [UInt8]
  private let isFixed: Bool
  private let now = Timestamp.now()
  private var targets: [Target] = []
  /// Indices in `targets` by collection name.
  private var places: [[UInt8]: Int] = [:]
  private var current = 0
  private var newCollections: NewCollections
  /// The identities of documents with given IDs, which can be parents of later documents.
  private var uids: [Int64: UniqueID] = [:]
  /// The documents whose parents come later, were there before, or are missing.
  package var laterParents = LaterParents()
  private var drafts = DraftBatch()

  package init(_ transaction: StoreTransaction, into collection: DocumentCollection?, options: BulkOptions)
    throws(StoreError)
  {
    self.options = options
    keys = try RowKeys(transaction.keys.session)
    keys.beginRun(transaction.connection.nonceSource)
    sealer = RecordSealer(keys)
    let writer = try transaction.writer
    dots = DocumentDots.bytes(ofNew: try writer.upcomingDot())
    revision = writer.revision
    nextID = writer.nextID
    isFixed = collection != nil
    defaultName = Array((collection?.name ?? "documents").utf8)
    let records = try transaction.collections()
    newCollections = try NewCollections(transaction)
    // Add each collection that drafts can name, because `run` may have to renew positions.
    for record in records where !isFixed || record.name.utf8.elementsEqual(defaultName) {
      add(Target(record: record, positions: try transaction.order.run(in: record.id, atTop: options.atTop)))
    }
    current = places[defaultName] ?? 0
  }

  /// The number of documents by collection name.
  package var counts: [String: Int] {
    var counts: [String: Int] = [:]
    for target in targets where target.count > 0 { counts[target.record.name, default: 0] += target.count }
    return counts
  }

  /// Seals the source's next drafts into an empty batch.
  ///
  /// - Returns: `false` if the source has ended.
  package func fill(_ batch: SealedBatch, from source: inout some DraftSource) throws -> Bool {
    drafts.removeAll()
    guard try source.read(into: &drafts) else { return false }
    try fill(batch, with: drafts)
    return true
  }

  /// Seals drafts into an empty batch.
  package func fill(_ batch: SealedBatch, with drafts: DraftBatch) throws(StoreError) {
    try drafts.bytes.withBytes { bytes throws(StoreError) in
      for draft in drafts.drafts {
        try seal(draft, bytes, into: batch)
        guard !draft.attachments.isEmpty else { continue }
        batch.attachments.append((batch.rows.count - 1, Array(drafts.attachments[draft.attachments])))
      }
    }
    try batch.sum(keys.summer)
  }

  private func seal(_ draft: DraftBatch.Draft, _ bytes: UnsafeRawBufferPointer, into batch: SealedBatch)
    throws(StoreError)
  {
    func part(_ range: Range<Int>?) -> UnsafeRawBufferPointer? {
      range.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) }
    }
    try choose(isFixed ? nil : part(draft.collection), batch)
    let record = targets[current].record
    let id = try number(draft)
    let text = part(draft.text) ?? UnsafeRawBufferPointer(start: nil, count: 0)
    // Check the text first, because sealed bytes that aren't valid UTF-8 could never be read.
    guard UTF8Validity.isValid(text) else {
      throw StoreError(.notText, "record \(draft.record): its text is not UTF-8")
    }
    let key = part(draft.key)
    let index: [UInt8]? =
      if let key { try keys.blindIndex(of: DocumentKey(bytes: key), in: record, under: keys.active) } else { nil }
    var history = DocumentHistory(uid: try keys.newUID(), parent: nil, dots: dots)
    var parent: Int64?
    // Other documents can't name a document without a given ID.
    if options.keepsIDs, draft.id != nil { uids[id] = history.uid }
    if let wanted = draft.parent {
      if options.keepsIDs {
        history.parent = uids[wanted.rawValue]
        if history.parent == nil {
          laterParents.add(DocumentID(id), wanted)
        } else {
          parent = wanted.rawValue
        }
      } else {
        parentsDropped += 1
      }
    }
    let fields = RowFields(
      id: id, collection: record.id, epoch: keys.active.epoch, revision: revision, parent: parent,
      flags: StoreFormat.RowFlags(isJSON: draft.isJSON).rawValue)
    let created = draft.created ?? (draft.hasSeparateDates ? nil : draft.modified) ?? now
    let modified = draft.modified ?? (draft.hasSeparateDates ? now : created)
    guard created.isStorable, modified.isStorable else { throw StoreError.refusedDate.of(record: draft.record) }
    var content = RecordSealer.Content(
      position: try targets[current].positions.take(), title: part(draft.title), key: key, blindIndex: index,
      attributes: part(draft.attributes) ?? UnsafeRawBufferPointer(start: nil, count: 0),
      created: created.millisecondsSince1970, modified: modified.millisecondsSince1970,
      history: history)
    do throws(StoreError) {
      if content.title == nil, !draft.isComplete,
        let derived = (options.titleRule ?? record.titleRule).title(forUTF8: text, isJSON: draft.isJSON)
      {
        try Array(derived.utf8).withBytes { title throws(StoreError) in
          content.title = title
          try sealer.seal(fields, content, text: text, into: batch)
        }
      } else {
        try sealer.seal(fields, content, text: text, into: batch)
      }
    } catch {
      throw StoreError(
        error.code, "record \(draft.record): \(error.message)", hint: error.advice, documentID: error.documentID)
    }
    batch.describeLast(
      record: draft.record,
      olderBlindIndexes: try keys.olderBlindIndexes(of: key.map { DocumentKey(bytes: $0) }, in: record))
    targets[current].count += 1
  }

  private func number(_ draft: DraftBatch.Draft) throws(StoreError) -> Int64 {
    let id: Int64
    do throws(StoreError) {
      id = try DocumentID.next(nextID, unless: options.keepsIDs ? draft.id : nil)
    } catch {
      throw error.of(record: draft.record)
    }
    nextID = max(nextID, UInt64(id) + 1)
    return id
  }

  /// Sets `current` to the named collection, or to the default collection. Creates the collection if it's missing.
  private func choose(_ name: UnsafeRawBufferPointer?, _ batch: SealedBatch) throws(StoreError) {
    if current < targets.count {
      let latest = targets[current].record.name.utf8
      if isFixed || name.map({ latest.elementsEqual($0) }) ?? latest.elementsEqual(defaultName) { return }
    }
    let bytes = name.map { Array($0) } ?? defaultName
    if let known = places[bytes] {
      current = known
      return
    }
    guard let name = String(validating: bytes, as: UTF8.self),
      (1...StoreFormat.maximumCollectionName).contains(bytes.count)
    else {
      throw StoreError(
        .invalidArgument, "a collection name must be 1 to \(StoreFormat.maximumCollectionName) bytes of UTF-8")
    }
    let record = try newCollections.record(name, CollectionSettings(titleRule: options.titleRule ?? .asGiven))
    add(Target(record: record, positions: PositionRun(tag: try keys.newPositionTag())))
    current = targets.count - 1
    batch.newCollections.append(record)
  }

  private func add(_ target: Target) {
    places[Array(target.record.name.utf8)] = targets.count
    targets.append(target)
  }
}
