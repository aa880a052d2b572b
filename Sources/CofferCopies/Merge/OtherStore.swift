internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The other store of a merge. Compares its history with this store's, proves its changes, and reads its documents.
final class OtherStore: OtherSide {
  let replicas: JointReplicas
  private let store: PairedStore
  private let mine: PairedStore
  private let own: Replicas
  private let collections: [CollectionRecord]
  private let collectionUIDs: [UInt32: UniqueID]
  /// The identities of all documents, which are read only if necessary.
  private var identities: Set<UniqueID>?

  private var transaction: StoreTransaction { store.transaction }

  /// Compares the histories of both stores.
  init(_ store: PairedStore, mine: PairedStore, base: CloneBase? = nil) throws(StoreError) {
    self.store = store
    self.mine = mine
    (replicas, own, collections) = try store.naming { () throws(StoreError) in
      let collections = try store.transaction.storedCollections()
      try collections.requireDistinctIdentities()
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

  /// Proves and returns the changes.
  ///
  /// The sealed ring lists the changes if it reaches back to the changes that this store includes. Each listed row must
  /// have been written in the generation that lists it, because an attacker without a key can replay an earlier row.
  /// Otherwise, a single walk proves all rows in both stores. It also proves attachments, which the ring doesn't list.
  ///
  /// - Parameter isWhole: Whether to prove all rows in both stores and return all of the other store's rows.
  /// - Throws: `setMismatch` if rows are missing, old or forged, or `damaged`.
  func changes(whole isWhole: Bool) throws(StoreError) -> OtherChanges {
    let since = isWhole ? 0 : knownGeneration
    let needsWalk = isWhole || transaction.start.nextAttachment > 1
    let recent: RecentChanges
    if !needsWalk, let listed = try RecentChanges.listed(in: store, since: since) {
      recent = listed
    } else {
      try mine.requireWhole()
      recent = try RecentChanges.walked(in: store, since: since)
    }
    var changes = OtherChanges()
    (changes.documents, changes.deletedIDs) = (recent.documents, recent.deletedIDs)
    try store.naming { () throws(StoreError) in
      for record in recent.collections { try changes.add(record, replicas, whole: isWhole) }
      for row in recent.deletions {
        try changes.add(try DeletionRecord(row, transaction.keys), replicas, whole: isWhole)
      }
      if needsWalk { try addAttachments(since: since, to: &changes) }
    }
    return changes
  }

  /// Adds all attachments, and the documents of the changed ones.
  private func addAttachments(since: UInt64, to changes: inout OtherChanges) throws(StoreError) {
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

  func text(_ id: Int64) throws(StoreError) -> String {
    try store.document(id, acceptingNewer: true).document.text
  }

  func header(_ id: Int64) throws(StoreError) -> DocumentHeader { try store.header(id) }

  func appliedMigrations() throws(StoreError) -> [String] { try transaction.appliedMigrations() }

  func naming<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R { try store.naming(work) }

  func prove(_ attachment: MergeAttachment, advance: @escaping () throws(StoreError) -> Void) throws(StoreError) {
    try naming { () throws(StoreError) in
      try AttachmentCopier(from: transaction, to: mine.transaction, advance: advance).prove(try record(of: attachment))
    }
  }

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

  func hasContent(of attachment: MergeAttachment) -> Bool { true }

  func hasDocument(_ uid: UniqueID, likely id: Int64) throws(StoreError) -> Bool {
    if try store.rowIfPresent(id, { _, head in head.uid }) == uid { return true }
    if identities == nil {
      var known: Set<UniqueID> = []
      try store.forEachRow { _, head in known.insert(head.uid) }
      identities = known
    }
    return identities!.contains(uid)
  }

  func document(_ id: Int64) throws(StoreError) -> MergeDocument {
    try store.row(id) { row, head throws(StoreError) in
      guard let collection = collectionUIDs[row.fields.collection] else {
        throw .damagedDocument(id, "its collection is gone")
      }
      var document = try MergeDocument(row, head, in: collection) { dots throws(StoreError) in
        try replicas.translate(dots)
      }
      document.keepsTitle = transaction.keys.session.titles != .none
      return document
    }
  }
}
