internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// A changeset to merge. Missing rows don't have a meaning.
final class OtherChangeset: OtherSide {
  let replicas: JointReplicas
  private let rows: ChangesetRows
  private let mine: PairedStore
  /// The file's path in errors.
  private let name: String
  private let collections: [UInt32: UniqueID]
  /// The identities of all documents, which are read only if necessary.
  private var identities: Set<UniqueID>?

  /// Compares the histories of a store and of a changeset's sender.
  init(_ rows: ChangesetRows, named name: String, mine: PairedStore) throws(StoreError) {
    (self.rows, self.name, self.mine) = (rows, name, mine)
    replicas = try Self.naming(name) { () throws(StoreError) in
      try rows.collections.requireDistinctIdentities()
      return try JointReplicas(mine.transaction, rows.reader.origin.commits, areOfStore: false)
    }
    collections = Dictionary(uniqueKeysWithValues: rows.collections.map { ($0.id, $0.uid) })
  }

  func naming<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R { try Self.naming(name, work) }

  /// Adds a changeset's path to errors about its rows.
  static func naming<R>(_ name: String, _ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      throw error.naming(name, hint: "let its maker publish it again")
    }
  }

  func changes(whole isWhole: Bool) throws(StoreError) -> OtherChanges {
    try naming { () throws(StoreError) in
      var changes = OtherChanges()
      changes.documents = rows.documents
      for record in rows.collections { try changes.add(record, replicas, whole: isWhole) }
      for record in rows.deletions { try changes.add(record, replicas, whole: isWhole) }
      for (index, (attachment, _)) in rows.attachments.enumerated() {
        let merged = try MergeAttachment(attachment, number: Int64(index)) { dot throws(StoreError) in
          try replicas.translate(dot)
        }
        guard changes.attachments.updateValue(merged, forKey: merged.uid) == nil else {
          throw StoreError(.setMismatch, "two attachments have one identity")
        }
      }
      return changes
    }
  }

  func document(_ id: Int64) throws(StoreError) -> MergeDocument {
    try naming { () throws(StoreError) in
      try rows.withDocument(id) { document, _ throws(StoreError) in
        guard let collection = collections[document.collection] else { throw ChangesetEntries.damage }
        let dots = try replicas.translate(rows.reader.dots(of: document.head))
        return MergeDocument(document, in: collection, dots)
      }
    }
  }

  func header(_ id: Int64) throws(StoreError) -> DocumentHeader {
    let attachments = rows.attachments.map(\.attachment).filter { $0.document == id }
    return try naming { () throws(StoreError) in
      try rows.withDocument(id) { document, _ in
        let head = document.head
        var header = DocumentHeader(
          id: DocumentID(id), collection: CollectionID(document.collection), position: document.position, parent: nil,
          title: head.title.map { String(decoding: $0, as: UTF8.self) }, key: head.key.map { DocumentKey(bytes: $0) },
          attributes: head.attributes.isEmpty ? Attributes() : Attributes(uncheckedCanonicalJSON: head.attributes),
          created: Timestamp(millisecondsSince1970: head.created),
          modified: Timestamp(millisecondsSince1970: head.modified), byteCount: head.textCount, isJSON: document.isJSON)
        header.attachmentCount = attachments.count
        header.attachmentByteCount = attachments.reduce(0) { $0 + $1.byteCount }
        return header
      }
    }
  }

  func text(_ id: Int64) throws(StoreError) -> String {
    try naming { () throws(StoreError) in try rows.text(id) }
  }

  func hasDocument(_ uid: UniqueID, likely id: Int64) throws(StoreError) -> Bool {
    try naming { () throws(StoreError) in
      if identities == nil {
        var known: Set<UniqueID> = []
        for id in rows.documents { known.insert(try rows.withDocument(id) { document, _ in document.head.uid }) }
        identities = known
      }
      return identities!.contains(uid)
    }
  }

  // MARK: Attachments

  func hasContent(of attachment: MergeAttachment) -> Bool { entry(attachment).attachment.carriesContent }

  private func entry(_ attachment: MergeAttachment) -> (attachment: ChangesetAttachment, place: Int) {
    rows.attachments[Int(attachment.number)]
  }

  func prove(_ attachment: MergeAttachment, advance: @escaping () throws(StoreError) -> Void) throws(StoreError) {
    try forEachPart(of: attachment) { _ throws(StoreError) in try advance() }
  }

  func copy(
    _ attachment: MergeAttachment, to document: DocumentID, advance: @escaping () throws(StoreError) -> Void
  ) throws(StoreError) {
    var description = entry(attachment).attachment.description
    (description.born, description.nameDot) = (attachment.born, attachment.nameDot)
    let builder = try AttachmentBuilder(mine.transaction, document, description)
    try forEachPart(of: attachment) { part throws(StoreError) in
      try advance()
      try builder.append(part)
    }
    _ = try builder.finish()
  }

  private func forEachPart(
    of attachment: MergeAttachment, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let (entry, place) = entry(attachment)
    try naming { () throws(StoreError) in try rows.reader.forEachPart(of: entry, at: place, body) }
  }

  func appliedMigrations() throws(StoreError) -> [String] {
    try naming { () throws(StoreError) in try StoreTransaction.migrations(in: rows.collections) }
  }
}
