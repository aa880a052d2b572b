internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

// Writes a merge's decisions.

extension StoreMerge {
  /// Writes all decisions, and returns the report with the added documents' IDs.
  func apply() throws -> MergeReport {
    let writer = try mine.writer
    try writer.raiseCounter(above: replicas.greatestCounter)
    try writer.changeReplicas { new throws(StoreError) in try new.take(replicas.joined) }
    guard writer.dot == fresh else { preconditionFailure("internal error: a merge has another dot than decided") }
    try applyCollections()
    var application = try MergeApplication(self, try mine.storedCollections())
    try application.run()
    return MergeReport(entries: application.entries, isMerged: false)
  }
}

/// Writes a merge's documents.
private struct MergeApplication {
  private let merge: StoreMerge
  private let mine: StoreTransaction
  private let other: any OtherSide
  private let writer: RecordWriter
  private let collections: [UniqueID: CollectionRecord]
  private(set) var entries: [MergeReport.Entry]

  /// This store's IDs for added and changed documents.
  private var ids: [UniqueID: Int64] = [:]
  private var takenIDs: Set<Int64> = []
  /// This store's IDs for added documents, by the other store's ID.
  private var newIDs: [DocumentID: DocumentID] = [:]
  /// The IDs of the new documents with losing texts, by the other store's ID for the merged document.
  private var copyIDs: [DocumentID: DocumentID] = [:]
  /// This store's losing texts, by the identity of the new document.
  private var lostTexts: [UniqueID: String] = [:]
  /// The keys that another document may hold now.
  private var keys: Set<SharedKey> = []
  /// The added and moved documents with parents, whose ancestors may form a cycle.
  private var placed: [Int64] = []
  /// The restored documents, and documents with a new collection. Children can name them as parents.
  private var returned: Set<UniqueID> = []

  private struct SharedKey: Hashable {
    let key: [UInt8]
    let collection: UInt32
  }

  init(_ merge: StoreMerge, _ collections: [CollectionRecord]) throws(StoreError) {
    self.merge = merge
    mine = merge.mine
    other = merge.other
    writer = try merge.mine.writer
    self.collections = Dictionary(uniqueKeysWithValues: collections.map { ($0.uid, $0) })
    entries = merge.entries
  }

  mutating func run() throws {
    writer.keepsOwnRange = true
    writer.settlesParentsLater = true
    for copy in merge.copies where copy.isNew && copy.side == .mine {
      let stored = try storedHere(copy.document.id)
      lostTexts[copy.uid] = stored.document.text
    }
    for case .remove(let attachment) in merge.attachmentDecisions {
      let row = try mine.attachmentRow(Attachment.ID(rawValue: attachment.number))
      try writer.deleteAttachment(row, of: try fields(of: row.document), notingDeletion: false)
    }
    for decision in merge.decisions { try delete(decision) }
    for decision in merge.decisions { try number(decision) }
    for decision in merge.decisions { try write(decision) }
    for decision in merge.attachmentDecisions { try write(decision) }
    for copy in merge.copies { try write(copy) }
    for shared in keys { try settle(shared) }
    try detachMovedParents()
    try reattachChildren()
    try writer.settleParents(placed: placed)
    entries = entries.map { entry in
      let ids = entry.action == .added ? newIDs : entry.action == .copied ? copyIDs : [:]
      guard entry.id == nil, let id = entry.otherID.flatMap({ ids[$0] }) else { return entry }
      return MergeReport.Entry(
        id: id, otherID: entry.otherID, collection: nil, action: entry.action, reason: entry.reason)
    }
  }

  private func storedHere(_ id: Int64) throws(StoreError) -> StoredDocument {
    try merge.here.document(id, acceptingNewer: true)
  }

  // MARK: Deletions

  private mutating func delete(_ decision: DocumentDecision) throws {
    switch decision {
    case .delete(let here, let theirs, let dots, let stamp):
      note(key: here.key, in: here.collection)
      try writer.delete(DocumentID(here.id), notingDeletion: false)
      try writer.insertDeletion(uid: here.uid, dots: dots, stamp: stamp, extensionBytes: theirs.extensionBytes)
    case .remove(let here):
      note(key: here.key, in: here.collection)
      try writer.delete(DocumentID(here.id), notingDeletion: false)
    case .deletion(let record, let dots, let stamp):
      var changed = record
      (changed.dots, changed.stamp) = (dots, stamp)
      changed.revision = writer.revision
      try writer.replaceDeletion(try row(record), with: changed)
    case .newDeletion(let theirs, let dots, let stamp):
      try writer.insertDeletion(uid: theirs.uid, dots: dots, stamp: stamp, extensionBytes: theirs.extensionBytes)
    case .add(_, _, let deletion):
      if let deletion { try writer.removeDeletion(try row(deletion)) }
    case .join, .keep: break
    }
  }

  private func row(_ record: DeletionRecord) throws(StoreError) -> DeletionRow {
    guard let row = try merge.documents.deletionRow(of: record.uid) else {
      throw .damagedStore("deletion #\(record.number) is gone")
    }
    return row
  }

  // MARK: Ids

  /// Gives an added document its ID, which is the other store's ID if that's free here.
  private mutating func number(_ decision: DocumentDecision) throws {
    switch decision {
    case .add(let theirs, _, _):
      let id = try isFree(theirs.id) ? theirs.id : try newID()
      takenIDs.insert(id)
      ids[theirs.uid] = id
      try writer.reserveIDs(through: UInt64(id))
    case .join(let here, _, _, _), .keep(let here, _): ids[here.uid] = here.id
    case .delete, .remove, .deletion, .newDeletion: break
    }
  }

  private func isFree(_ id: Int64) throws(StoreError) -> Bool {
    // A row can still name a deleted document as its parent.
    guard StoreFormat.documentIDs.contains(id), !takenIDs.contains(id) else { return false }
    guard try !mine.hasRow(DocumentID(id)) else { return false }
    return try mine.database.integer(SQL.anyChild, id) == nil
  }

  private func newID() throws(StoreError) -> Int64 { try DocumentID.next(writer.nextID, unless: nil) }

  // MARK: Documents

  private mutating func write(_ decision: DocumentDecision) throws {
    switch decision {
    case .add(let theirs, let dots, let deletion): try add(theirs, dots, cameBack: deletion != nil)
    case .join(let here, let there, let joined, let dots): try join(here, there, joined, dots)
    case .keep(let here, let dots):
      try writer.rewrite(DocumentID(here.id), changing: [], [], as: .head, acceptingNewer: true) {
        content, _ throws(StoreError) in
        content.history.dots = dots.bytes
      }
    case .delete, .remove, .deletion, .newDeletion: break
    }
  }

  private mutating func add(_ theirs: MergeDocument, _ dots: DocumentDots, cameBack: Bool) throws {
    let id = ids[theirs.uid]!
    let record = try collection(theirs.place.collection)
    let document = Document(
      title: theirs.title.map { String(decoding: $0, as: UTF8.self) }, text: try other.text(theirs.id),
      key: theirs.key.map { DocumentKey(bytes: $0) }, attributes: theirs.attributes,
      parent: try parent(theirs.place.parent, of: id, in: record), created: theirs.createdDate,
      modified: theirs.modifiedDate, isJSON: theirs.text.isJSON)
    let history = DocumentHistory(uid: theirs.uid, parent: theirs.place.parent, dots: dots.bytes)
    try writer.insert(
      document, id: id, in: record, isNew: false, position: theirs.place.position, now: .now(), history: history,
      extensionBytes: theirs.extensionBytes, isKeyHeldElsewhere: try isHeld(document.key, by: id, in: record))
    note(key: theirs.key, in: record.id)
    if document.parent != nil { placed.append(id) }
    if cameBack || merge.readsWhole { returned.insert(theirs.uid) }
    newIDs[DocumentID(theirs.id)] = DocumentID(id)
  }

  private mutating func join(
    _ here: MergeDocument, _ there: MergeDocument, _ joined: JoinedDocument, _ dots: DocumentDots
  ) throws {
    let old = try storedHere(here.id)
    var new = old.document
    if joined.takesText {
      new.text = try other.text(there.id)
      new.isJSON = there.text.isJSON
    }
    if joined.title.side == .theirs { new.title = there.title.map { String(decoding: $0, as: UTF8.self) } }
    let key = joined.key.side == .theirs ? there.key : here.key
    new.key = key.map { DocumentKey(bytes: $0) }
    new.attributes = Attributes(
      joined.memberValues(here, there).map { Attributes.Member(name: $0.key, value: $0.value) })
    (new.created, new.modified) = dates(here, there, stamp: dots.stamp)
    var history = DocumentHistory(uid: here.uid, parent: here.place.parent, dots: dots.bytes)
    var position: DocumentPosition?
    var record = try collection(here.place.collection)
    if joined.place.side == .theirs, !joined.place.areEqual {
      record = try collection(there.place.collection)
      position = there.place.position
      history.parent = there.place.parent
      new.parent = try parent(there.place.parent, of: here.id, in: record)
      if new.parent != nil { placed.append(here.id) }
      if record.id != here.collection { returned.insert(here.uid) }
    }
    // The key's holder is found after all documents are written.
    let isKeyWritten = here.key != key || record.id != here.collection || here.dots.key != dots.key
    if isKeyWritten {
      note(key: here.key, in: here.collection)
      note(key: key, in: record.id)
    }
    try writer.replace(
      old, with: new, in: record, movedTo: position, history: history,
      extensionBytes: joined.extensionBytes(here, there),
      isKeyHeldElsewhere: isKeyWritten
        ? try isHeld(new.key, by: here.id, in: record) : old.fields.isKeyHeldElsewhere)
  }

  /// Returns the dates that belong to a stamp. A new stamp has the later date of change.
  private func dates(
    _ here: MergeDocument, _ there: MergeDocument, stamp: Dot
  ) -> (created: Timestamp, modified: Timestamp) {
    if stamp == here.dots.stamp { return (here.createdDate, here.modifiedDate) }
    if stamp == there.dots.stamp { return (there.createdDate, there.modifiedDate) }
    let isLaterThere = merge.replicas.isBefore(here.dots.stamp, there.dots.stamp)
    return (isLaterThere ? there.createdDate : here.createdDate, max(here.modifiedDate, there.modifiedDate))
  }

  /// Returns whether another document holds a key now.
  private func isHeld(_ key: DocumentKey?, by id: Int64, in record: CollectionRecord) throws(StoreError) -> Bool {
    guard let key, let holder = try mine.id(forKey: key, in: record) else { return false }
    return holder.rawValue != id
  }

  private func collection(_ uid: UniqueID) throws(StoreError) -> CollectionRecord {
    guard let record = collections[uid] else { throw .damagedStore("a merged document's collection is gone") }
    return record
  }

  /// Adds a text that lost a conflict as a separate document after the document that both stores have.
  private mutating func write(_ copy: CopyDecision) throws {
    let source = copy.document
    guard copy.isNew else {
      if let id = try ids[copy.uid] ?? merge.documents.id(of: copy.uid) {
        copyIDs[DocumentID(copy.otherID)] = DocumentID(id)
      }
      return
    }
    if let deletion = copy.deletion { try writer.removeDeletion(try row(deletion)) }
    let original = copy.id
    let now = try mine.header(of: DocumentID(original))
    let place = try storedHere(original)
    guard let record = collections.values.first(where: { $0.id == now.collection.rawValue }) else {
      throw StoreError.damagedDocument(original, "its collection is gone")
    }
    var dots = DocumentDots(copy.wasDeleted ? merge.fresh : source.dots.text)
    (dots.title, dots.key, dots.attributes, dots.place) = (.zero, .zero, .zero, .zero)
    (dots.text, dots.stamp) = (source.dots.text, merge.fresh)
    let position =
      if let behind = DocumentPosition(now.position.bytes + OtherVersionLevel.bytes(for: copy.uid)) { behind } else {
        try mine.order.position(for: .after(DocumentID(original)), in: record.id)
      }
    let text = copy.side == .mine ? lostTexts[copy.uid]! : try other.text(source.id)
    let id = try newID()
    ids[copy.uid] = id
    if copy.wasDeleted { returned.insert(copy.uid) }
    // The original can be the document at which a cycle is cut, but its copy is in no cycle.
    let parent = try parent(place.history.parent, of: id, in: record)
    try writer.insert(
      Document(
        title: Self.marked(source.title.map { String(decoding: $0, as: UTF8.self) }), text: text,
        attributes: source.attributes, parent: parent, created: source.createdDate,
        modified: source.modifiedDate, isJSON: source.text.isJSON),
      id: id, in: record, isNew: false, position: position, now: .now(),
      history: DocumentHistory(uid: copy.uid, parent: place.history.parent, dots: dots.bytes))
    copyIDs[DocumentID(copy.otherID)] = DocumentID(id)
  }

  /// Returns the title for a document with a losing text.
  private static func marked(_ title: String?) -> String {
    let mark = " (other version)"
    var title = title ?? ""
    while title.utf8.count + mark.utf8.count > StoreFormat.maximumTitle { title.removeLast() }
    return title + mark
  }

  // MARK: Attachments

  private func write(_ decision: AttachmentDecision) throws(StoreError) {
    switch decision {
    case .remove: break
    case .change(let attachment, let name, let born, let nameDot):
      let row = try mine.attachmentRow(Attachment.ID(rawValue: attachment.number))
      var record = try AttachmentRecord(row, mine.keys)
      (record.name, record.born, record.nameDot, record.revision) = (name, born, nameDot, writer.revision)
      try writer.replaceAttachment(
        try row.element(mine.keys), with: record, of: try fields(of: row.document))
    case .copy(let theirs, let home):
      try other.copy(theirs, to: DocumentID(home.id ?? ids[home.uid]!), advance: merge.tell)
    }
  }

  private func fields(of document: Int64) throws(StoreError) -> RowFields {
    guard let fields = try mine.unverifiedFields(of: DocumentID(document)) else {
      throw .noSuchDocument(DocumentID(document))
    }
    return fields
  }

  // MARK: Keys

  private mutating func note(key: [UInt8]?, in collection: UInt32) {
    if let key { keys.insert(SharedKey(key: key, collection: collection)) }
  }

  private mutating func settle(_ shared: SharedKey) throws {
    let hidden = try writer.settle(DocumentKey(bytes: shared.key), in: shared.collection)
    for id in hidden {
      entries.append(
        MergeReport.Entry(id: id, otherID: nil, collection: nil, action: .keyHidden, reason: .equalKeys))
    }
  }

  // MARK: Parents

  /// Returns this store's ID for a parent, or `nil` if the parent isn't in the collection.
  private func parent(_ uid: UniqueID?, of id: Int64, in record: CollectionRecord) throws(StoreError) -> DocumentID? {
    guard let uid else { return nil }
    var found = ids[uid]
    if found == nil { found = try merge.documents.id(of: uid) }
    guard let parent = found, parent != id else { return nil }
    // A parent that this merge adds later doesn't have a row yet.
    if let coming = merge.collectionOfAdded[uid] { return coming == record.uid ? DocumentID(parent) : nil }
    guard let fields = try mine.unverifiedFields(of: DocumentID(parent)) else { return nil }
    return fields.collection == record.id ? DocumentID(parent) : nil
  }

  /// Removes the parent from the rows of children if the parent moved to another collection.
  private func detachMovedParents() throws {
    for uid in returned {
      guard let id = ids[uid], let fields = try mine.unverifiedFields(of: DocumentID(id)) else { continue }
      for child in try writer.ids(SQL.idsOfChildren, id) {
        guard try mine.unverifiedFields(of: child)?.collection != fields.collection else { continue }
        try writer.setParentRow(of: child, to: nil)
      }
    }
  }

  /// Restores the parents of children whose parent was restored or moved into their collection.
  private mutating func reattachChildren() throws {
    guard !returned.isEmpty else { return }
    let reader = RecordReader(mine.database, mine.keys)
    defer { reader.end() }
    var found: [(child: DocumentID, parent: Int64)] = []
    var last: Int64 = 0
    while case let page = try writer.ids(SQL.idsAfter, last, RecordWriter.idPage), !page.isEmpty {
      for id in page {
        let row = try reader.row(id, withBody: false, within: mine.limits)
        let (column, collection) = (row.fields.parent, row.fields.collection)
        guard let uid = try reader.opener.openHead(row, acceptsNewer: true).parent, returned.contains(uid),
          let parent = ids[uid], parent != id.rawValue, column != parent,
          try mine.unverifiedFields(of: DocumentID(parent))?.collection == collection
        else { continue }
        found.append((id, parent))
      }
      last = try RecordWriter.end(ofPage: page, after: last)
    }
    for (child, parent) in found {
      try writer.setParentRow(of: child, to: parent)
      placed.append(child.rawValue)
    }
  }
}

extension MergeDocument {
  fileprivate var createdDate: Timestamp { Timestamp(millisecondsSince1970: created) }
  fileprivate var modifiedDate: Timestamp { Timestamp(millisecondsSince1970: modified) }
}

extension JoinedDocument {
  /// Returns the entries of later versions. Each entry comes with its part.
  fileprivate func extensionBytes(_ mine: MergeDocument, _ theirs: MergeDocument) -> [UInt8] {
    guard !mine.extensionBytes.isEmpty || !theirs.extensionBytes.isEmpty else { return [] }
    var taken: ExtensionPart.Parts = []
    if born.side == .theirs { taken.insert(.document) }
    if text.side == .theirs { taken.insert(.text) }
    if title.side == .theirs { taken.insert(.title) }
    if key.side == .theirs { taken.insert(.key) }
    if members.values.contains(where: { $0.side == .theirs && !$0.areEqual }) { taken.insert(.attributes) }
    if place.side == .theirs { taken.insert(.place) }
    return ExtensionPart.joining(mine.extensionBytes, theirs.extensionBytes, taking: taken)
  }
}
