internal import CofferDocuments
package import CofferEngine
internal import CofferRecords
internal import CofferSealing
internal import CofferText

extension StoreEngine {
  /// Writes a changeset of all documents to an empty store, without comparing the documents.
  ///
  /// The documents are where a merge would put them. The store gets the indexes of its applied migrations.
  ///
  /// - Parameters:
  ///   - name: What errors call the changeset.
  ///   - note: Called before the commit.
  /// - Throws: `otherFormat` if the documents have a migration unknown to this program, `setMismatch`, `damaged`,
  ///   or errors of migrations.
  package func fill(
    with changeset: ChangesetReader, named name: String, _ progress: ProgressHandler?,
    noting note: @escaping (StoreTransaction, AttachmentDebts) throws(StoreError) -> Void
  ) throws -> MergeReport {
    let applied = try OtherChangeset.naming(name) { () throws(StoreError) in try changeset.appliedMigrations() }
    let indexes = try MigrationIndexes(of: applied, in: self)
    return try write { transaction in
      let filling = try ChangesetFilling(changeset, into: transaction, progress)
      do {
        try filling.run()
      } catch let error as StoreError {
        _ = try OtherChangeset.naming(name) { () throws(StoreError) -> Void in throw error }
      }
      if let known = options.migrations { try transaction.requireKnownMigrations(known) }
      try indexes.build(in: transaction)
      try note(transaction, filling.debts)
      return MergeReport(entries: filling.entries, isMerged: true)
    }
  }
}

/// The work of filling an empty store with a changeset.
private final class ChangesetFilling {
  private let changeset: ChangesetReader
  private let transaction: StoreTransaction
  private let writer: RecordWriter
  private let replicas: JointReplicas
  private let progress: ProgressHandler?
  private(set) var entries: [MergeReport.Entry] = []
  private(set) var debts = AttachmentDebts()

  private var collections: [UInt32: CollectionRecord] = [:]
  private var deleted: Set<UniqueID> = []
  /// The documents' IDs and collections.
  private var homes: [UniqueID: (id: Int64, collection: UInt32)] = [:]
  /// The documents whose parents come after them.
  private var waiting: [(child: Int64, collection: UInt32, parent: UniqueID)] = []
  /// The first halves of the keys' blind indexes, which reveal repeated keys.
  private var keys: Set<UniqueID> = []
  private var sharedKeys: [(key: DocumentKey, collection: UInt32)] = []
  private var attachments: [(attachment: ChangesetAttachment, place: Int)] = []

  init(
    _ changeset: ChangesetReader, into transaction: StoreTransaction, _ progress: ProgressHandler?
  ) throws(StoreError) {
    (self.changeset, self.transaction, self.progress) = (changeset, transaction, progress)
    writer = try transaction.writer
    _ = try writer.upcomingDot()
    guard transaction.state.count == 0, try transaction.storedCollections().isEmpty else {
      preconditionFailure("internal error: a store with documents is filled")
    }
    replicas = try JointReplicas(transaction, changeset.origin.commits, areOfStore: false)
  }

  func run() throws {
    try writer.raiseCounter(above: replicas.greatestCounter)
    try writer.changeReplicas { new throws(StoreError) in try new.take(replicas.joined) }
    writer.keepsOwnRange = true
    writer.settlesParentsLater = true
    let source = try changeset.entries()
    try insertCollections(source)
    try insertDeletions(source)
    try insertDocuments(source)
    try source.requireEnd()
    try setWaitingParents()
    for (key, collection) in sharedKeys {
      for id in try writer.settle(key, in: collection) {
        let entry = MergeReport.Entry(id: id, otherID: nil, collection: nil, action: .keyHidden, reason: .equalKeys)
        if !entries.contains(entry) { entries.append(entry) }
      }
    }
    try insertAttachments()
  }

  private func insertCollections(_ source: ChangesetEntries) throws(StoreError) {
    var known: Set<UniqueID> = []
    while source.next == .collection {
      var record = try changeset.collection(try source.take())
      record.dots = try replicas.translate(record.dots)
      record.revision = writer.revision
      guard known.insert(record.uid).inserted, collections.updateValue(record, forKey: record.id) == nil else {
        throw StoreError(.setMismatch, "two collections have one identity")
      }
      try writer.insertCollection(record)
      guard !record.isDropped else { continue }
      entries.append(
        MergeReport.Entry(
          id: nil, otherID: nil, collection: CollectionID(record.id), action: .added, reason: .addedThere))
    }
  }

  private func insertDeletions(_ source: ChangesetEntries) throws(StoreError) {
    while source.next == .deletion {
      let record = try changeset.deletion(try source.take())
      guard deleted.insert(record.uid).inserted else {
        throw StoreError(.setMismatch, "two deletions have one identity")
      }
      try writer.insertDeletion(
        uid: record.uid, dots: try record.dots.map { dot throws(StoreError) in try replicas.translate(dot) }.sorted(),
        stamp: try replicas.translate(record.stamp), extensionBytes: record.extensionBytes)
    }
  }

  // MARK: Documents

  private func insertDocuments(_ source: ChangesetEntries) throws {
    let keys = try RowKeys(transaction.keys.session)
    keys.beginRun(transaction.connection.nonceSource)
    let sealer = RecordSealer(keys)
    let revision = writer.revision
    var count = 0
    try RowInsertion(transaction).run(
      readBy: { _ in () },
      sealedBy: { batch, _ in
        while source.next == .document, !RowCopier.isFull(batch) {
          let id = try self.seal(
            try source.take(limit: ChangesetEntries.maximumDocument), sealer, revision, into: batch)
          try self.noteAttachments(of: id, source)
        }
        try batch.sum(keys.summer)
        return !batch.rows.isEmpty
      },
      inserted: { batch in
        for row in batch.rows {
          let id = DocumentID(row.fields.id)
          entries.append(
            MergeReport.Entry(id: id, otherID: id, collection: nil, action: .added, reason: .addedThere))
        }
        count += batch.rows.count
        try progress?(WorkProgress(done: count, total: count))
      })
  }

  /// Seals a document, and returns its ID.
  private func seal(
    _ bytes: [UInt8], _ sealer: RecordSealer, _ revision: UInt64, into batch: SealedBatch
  ) throws(StoreError) -> Int64 {
    try bytes.withBytes { bytes throws(StoreError) in
      guard let document = ChangesetDocument(bytes), let collection = collections[document.collection],
        case let head = document.head,
        case let text = UnsafeRawBufferPointer(rebasing: bytes[document.byteCount...]), text.count == head.textCount,
        UTF8Validity.isValid(text)
      else { throw ChangesetEntries.damage }
      guard homes.updateValue((document.id, document.collection), forKey: head.uid) == nil,
        !deleted.contains(head.uid)
      else { throw StoreError(.setMismatch, "a document is there twice, or its deletion, too") }
      let keys = sealer.keys
      var fields = RowFields(
        id: document.id, collection: document.collection, epoch: keys.active.epoch, revision: revision,
        parent: parent(of: document), flags: 0)
      var index: [UInt8]?
      var isHeldElsewhere = false
      if let bytes = head.key {
        let key = DocumentKey(bytes: bytes)
        index = try keys.blindIndex(of: key, in: collection, under: keys.active)
        isHeldElsewhere = try isTaken(index!, in: document.collection)
        // Which document holds the key is decided when all of them are there.
        if isHeldElsewhere { sharedKeys.append((key, document.collection)) }
      }
      fields.flags =
        StoreFormat.RowFlags(isJSON: document.isJSON, isKeyHeldElsewhere: isHeldElsewhere).rawValue
      let content = RecordSealer.Content(
        position: document.position, title: head.title, key: head.key, blindIndex: index, attributes: head.attributes,
        created: head.created, modified: head.modified,
        history: DocumentHistory(
          uid: head.uid, parent: head.parent, dots: try replicas.translate(changeset.dots(of: head)).bytes),
        textDigest: head.textDigest, extensionBytes: Array(head.extensionPart.bytes))
      try sealer.seal(fields, content, text: text, into: batch)
      return document.id
    }
  }

  /// Returns whether another document in the collection has a key, and records the key.
  private func isTaken(_ index: [UInt8], in collection: UInt32) throws(StoreError) -> Bool {
    var builder = ByteBuilder(reserving: 40)
    builder.append(collection)
    builder.append(bytes: index)
    return try !keys.insert(UniqueID(hashing: "coffer3/key", builder.bytes)).inserted
  }

  // MARK: Parents

  /// Returns the ID of a document's parent, or `nil` for now if the parent comes later or isn't in the collection.
  private func parent(of document: ChangesetDocument) -> Int64? {
    guard let parent = document.head.parent, parent != document.head.uid else { return nil }
    guard let home = homes[parent] else {
      waiting.append((document.id, document.collection, parent))
      return nil
    }
    return home.collection == document.collection ? home.id : nil
  }

  private func setWaitingParents() throws {
    var placed: [Int64] = []
    for (child, collection, uid) in waiting {
      guard let parent = homes[uid], parent.collection == collection else { continue }
      try writer.setParentRow(of: DocumentID(child), to: parent.id)
      placed.append(child)
    }
    // A cycle has a parent with a greater ID than its child's.
    try writer.settleParents(placed: placed)
  }

  // MARK: Attachments

  /// Notes the attachments of a document, whose contents are read when all documents are there.
  private func noteAttachments(of id: Int64, _ source: ChangesetEntries) throws(StoreError) {
    while source.next == .attachment {
      let attachment = try changeset.attachment(try source.take())
      guard attachment.document == id else { throw ChangesetEntries.damage }
      attachments.append((attachment, source.place))
      while attachment.carriesContent, source.next == .content { _ = try source.begin(0) }
    }
  }

  private func insertAttachments() throws(StoreError) {
    var known = deleted
    for (attachment, place) in attachments {
      guard known.insert(attachment.description.uid).inserted else {
        throw StoreError(.setMismatch, "an attachment is there twice, or its deletion, too")
      }
      guard attachment.carriesContent else {
        debts.wanted.insert(attachment.description.uid)
        continue
      }
      var description = attachment.description
      (description.born, description.nameDot) = (
        try replicas.translate(description.born), try replicas.translate(description.nameDot)
      )
      let builder = try AttachmentBuilder(transaction, DocumentID(attachment.document), description)
      try changeset.forEachPart(of: attachment, at: place) { part throws(StoreError) in
        try transaction.requireOpen()
        try builder.append(part)
      }
      _ = try builder.finish()
    }
  }
}
