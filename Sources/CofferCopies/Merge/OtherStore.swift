internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The other store of a merge. Compares its history with this store's, proves its changes, and reads its documents.
final class OtherStore {
  let replicas: JointReplicas
  private let store: PairedStore
  private let mine: PairedStore
  private let own: Replicas
  /// Whether the store holds the changes of a changeset only, and none of its absent rows says anything.
  private let isChangeset: Bool
  /// The attachments of a changeset that it names without their contents.
  private let absentContents: Set<UniqueID>
  private let collections: [CollectionRecord]
  private let collectionUIDs: [UInt32: UniqueID]
  /// The identities of all documents, which are read only if necessary.
  private var identities: Set<UniqueID>?

  var transaction: StoreTransaction { store.transaction }

  /// Compares the histories of both stores.
  ///
  /// - Parameter origin: The changeset that the other store was made from, if it holds changes only.
  init(_ store: PairedStore, mine: PairedStore, base: CloneBase? = nil, origin: ChangesetOrigin? = nil)
    throws(StoreError)
  {
    self.store = store
    self.mine = mine
    isChangeset = origin != nil
    absentContents = origin?.absentContents ?? []
    (replicas, own, collections) = try store.naming { () throws(StoreError) in
      let collections = try store.transaction.storedCollections()
      guard Set(collections.map(\.uid)).count == collections.count else {
        throw StoreError(.setMismatch, "two collections have one identity")
      }
      if let origin {
        return (try JointReplicas(mine.transaction, origin.commits, areOfStore: false), origin.replicas, collections)
      }
      return (
        try JointReplicas(mine.transaction, store.transaction, base: base), try store.transaction.replicas, collections
      )
    }
    collectionUIDs = Dictionary(uniqueKeysWithValues: collections.map { ($0.id, $0.uid) })
    guard replicas.needsDocuments else { return }
    if let base {
      for one in [mine, store] { try SharedHistory(one, base.store).require(orThrow: CloneBase.isNoOlderFile) }
    } else {
      try SharedHistory(mine, store).require(orThrow: JointReplicas.putBack)
    }
  }

  /// The changes that this store doesn't include.
  struct Changes {
    /// The other store's IDs for the changed documents, in ascending order.
    var documents: [Int64] = []
    var collections: [CollectionRecord] = []
    var deletions: [DeletionRecord] = []
    /// All attachments of the other store, the unchanged ones, too.
    var attachments: [UniqueID: MergeAttachment] = [:]
    /// The other store's IDs for the deleted documents, as far as the ring lists them.
    var deletedIDs: [Int64] = []

    var isEmpty: Bool { documents.isEmpty && collections.isEmpty && deletions.isEmpty }
  }

  /// Proves and returns the changes.
  ///
  /// The sealed ring lists the changes if it reaches back to the changes that this store includes. Each listed row must
  /// have been written in the generation that lists it, because an attacker without a key can replay an earlier row.
  /// Otherwise, a single walk proves all rows in both stores. It also proves attachments, which the ring doesn't list.
  ///
  /// - Parameter isWhole: Whether to prove all rows in both stores and return all of the other store's rows.
  /// - Throws: `setMismatch` if rows are missing, old or forged, or `damaged`.
  func changes(whole isWhole: Bool) throws(StoreError) -> Changes {
    let since = isWhole || isChangeset ? 0 : knownGeneration
    let needsWalk = isWhole || isChangeset || transaction.start.nextAttachment > 1
    let recent: RecentChanges
    if !needsWalk, let listed = try RecentChanges.listed(in: store, since: since) {
      recent = listed
    } else {
      // This process wrote the rows of a changeset itself.
      if !isChangeset { try mine.requireWhole() }
      recent = try RecentChanges.walked(in: store, since: since)
    }
    var changes = Changes()
    (changes.documents, changes.deletedIDs) = (recent.documents, recent.deletedIDs)
    try store.naming { () throws(StoreError) in
      try add(recent.collections, to: &changes, whole: isWhole)
      for row in recent.deletions { try add(row, to: &changes, whole: isWhole) }
      if needsWalk { try addAttachments(since: since, to: &changes) }
    }
    return changes
  }

  /// Adds all attachments, and the documents of the changed ones.
  private func addAttachments(since: UInt64, to changes: inout Changes) throws(StoreError) {
    changes.attachments = try MergeAttachment.all(of: store) { dot throws(StoreError) in try replicas.translate(dot) }
    let changed = Set(changes.attachments.values.lazy.filter { $0.revision > since }.map(\.document))
    if !changed.isEmpty { changes.documents = changed.union(changes.documents).sorted() }
  }

  /// A generation of the other store up to which this store includes all commits.
  private var knownGeneration: UInt64 {
    let start = transaction.start
    let counter = replicas.knownCounter(ofOwn: own)
    if counter > 0 {
      let (rose, last) = (own.ownReplica.rose, own.ownReplica.marks.last)
      // `lead` rises when `rose` does, so a commit before `rose` has the lead of the last commit before it, or less.
      // Therefore, the result isn't later than the commit's generation.
      guard let last, rose > 1, last.counter >= rose - 1, counter < rose + start.lead else {
        return counter > start.lead ? min(counter - start.lead, start.generation) : 0
      }
      let lead = last.counter - (rose - 1)
      return counter > lead ? min(counter - lead, rose - 1) : 0
    }
    guard replicas.includesOthers(than: own) else { return 0 }
    // A copy is filled with the other replicas' changes in its second generation.
    if own.ownReplica.rose == 2, !own.ownReplica.marks.isEmpty { return 2 }
    // A file that took a new identity made its first commit with that identity in generation `rose`.
    return own.ownReplica.marks.isEmpty ? own.ownReplica.rose - min(1, own.ownReplica.rose) : 0
  }

  private func add(_ records: [CollectionRecord], to changes: inout Changes, whole: Bool) throws(StoreError) {
    for var record in records {
      record.dots = try replicas.translate(record.dots)
      if whole || !replicas.iInclude(record.dots.stamp) { changes.collections.append(record) }
    }
  }

  private func add(_ row: DeletionRow, to changes: inout Changes, whole: Bool) throws(StoreError) {
    var record = try DeletionRecord(row, transaction.keys)
    record.stamp = try replicas.translate(record.stamp)
    for index in record.dots.indices { record.dots[index] = try replicas.translate(record.dots[index]) }
    if whole || !replicas.iInclude(record.stamp) { changes.deletions.append(record) }
  }

  /// Returns a document's text, after comparing its digest with the digest in the head.
  func text(_ id: Int64) throws(StoreError) -> String {
    try store.document(id, acceptingNewer: true).document.text
  }

  /// Adds the store's path to errors about its rows.
  func naming<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R { try store.naming(work) }

  /// Reads the content of an attachment, and compares it with its digest.
  ///
  /// - Parameter advance: Called for each part. Throwing from it ends the work.
  func prove(
    _ attachment: MergeAttachment, advance: @escaping () throws(StoreError) -> Void = { () throws(StoreError) in }
  ) throws(StoreError) {
    try naming { () throws(StoreError) in
      try AttachmentCopier(from: transaction, to: mine.transaction, advance: advance).prove(try record(of: attachment))
    }
  }

  /// Copies an attachment to a document of this store, with its identity and dots.
  func copy(
    _ attachment: MergeAttachment, to document: DocumentID, advance: @escaping () throws(StoreError) -> Void
  ) throws(StoreError) {
    try naming { () throws(StoreError) in
      try AttachmentCopier(from: transaction, to: mine.transaction, advance: advance)
        .copy(try record(of: attachment), to: document, as: attachment.names)
    }
  }

  private func record(of attachment: MergeAttachment) throws(StoreError) -> AttachmentRecord {
    try AttachmentRecord(
      try transaction.attachmentRow(Attachment.ID(rawValue: attachment.number)), transaction.keys)
  }

  /// Returns whether the store has the content of an attachment, which a changeset can leave out.
  func hasContent(of attachment: MergeAttachment) -> Bool { !absentContents.contains(attachment.uid) }

  /// Returns whether the store has the document with an identity, which probably has an ID.
  func hasDocument(_ uid: UniqueID, likely id: Int64) throws(StoreError) -> Bool {
    if try store.rowIfPresent(id, { _, head in head.uid }) == uid { return true }
    if identities == nil {
      var known: Set<UniqueID> = []
      try store.forEachRow { _, head in known.insert(head.uid) }
      identities = known
    }
    return identities!.contains(uid)
  }

  /// Returns a document with joint numbers in its dots.
  ///
  /// - Throws: `setMismatch` if the other store doesn't include a dot, or `damaged`.
  func document(_ id: Int64) throws(StoreError) -> MergeDocument {
    try store.row(id) { row, head throws(StoreError) in
      guard let collection = collectionUIDs[row.fields.collection] else {
        throw .damagedDocument(id, "its collection is gone")
      }
      return try MergeDocument(row, head, in: collection) { dots throws(StoreError) in try replicas.translate(dots) }
    }
  }
}
