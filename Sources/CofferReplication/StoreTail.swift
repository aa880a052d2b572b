public import Coffer
public import CofferEngine
internal import CofferRecords

/// The documents that changed in a store since an earlier state, such as the changes that a new branch lacks after a
/// failover.
public struct StoreTail: Sendable, Hashable {
  /// A change to a document since the earlier state. A document can have several changes.
  public enum Change: String, Sendable, CaseIterable {
    /// The document is new.
    case inserted
    /// The text, title, key, attributes or flags changed. If the ring is too short, this includes documents with new
    /// dates.
    case changed
    /// The position, parent or collection changed.
    case moved
    /// The document was deleted.
    case deleted
  }

  /// A document and its changes.
  public struct Entry: Sendable, Hashable {
    /// The document's ID.
    public let id: DocumentID
    /// The document's collection, or former collection if it's deleted.
    public let collection: CollectionID
    /// The changes, which are never empty. If `deleted` and `inserted` are both present, another document now has the
    /// ID. Otherwise, either is the only change.
    public let changes: Set<Change>
  }

  /// The earlier state's generation.
  public let since: UInt64
  /// The store's generation.
  public let generation: UInt64
  /// The changed documents, sorted by ID.
  public let entries: [Entry]
  /// The created, renamed, changed or dropped collections.
  public let changedCollections: Set<CollectionID>
  /// A Boolean value that indicates whether the ring reaches back to the earlier state, so `entries` lists all deleted
  /// documents and `changedCollections` lists all dropped collections.
  public let namesDeletions: Bool
  /// The relation to the earlier state's anchor, or `nil` if a generation was given.
  public let relation: StoreAnchor.Relation?
  /// The rows that can't be opened. Empty unless damage is skipped.
  public let damaged: [Verdict.Damage]
  /// A Boolean value that indicates whether the set hash and count match, so the rows are exactly the written rows.
  /// Always true unless damage is skipped.
  public let isProved: Bool
}

/// Reads the changes since an earlier state.
struct TailReader {
  let transaction: StoreTransaction

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Returns the changes since an anchor's state.
  ///
  /// - Throws: The same errors as a comparison with the anchor and ``tail(since:relation:skippingDamaged:)``.
  func tail(since anchor: StoreAnchor, skippingDamaged: Bool) throws(StoreError) -> StoreTail {
    // Accept a newer root key, because the result reports the comparison and doesn't depend on it.
    let compared = try anchor.compare(
      with: transaction.start, of: transaction.keys.session, mark: try transaction.anchor().mark,
      requiring: .sameOrNewer, allowingRekey: true,
      hasPin: false, provesRootKey: true)
    switch compared {
    case .success(let relation):
      return try tail(since: anchor.generation, relation: relation, skippingDamaged: skippingDamaged)
    case .failure(let fault): throw anchor.error(fault, found: transaction.start)
    }
  }

  /// Returns the changes and sums all rows in a single pass. If the ring is long enough, it lists the deletions.
  ///
  /// - Throws: `rolledBack` if the store is older than that generation. `damaged` and `setMismatch` unless
  ///   `skippingDamaged` is set.
  func tail(
    since earlier: UInt64, relation: StoreAnchor.Relation? = nil, skippingDamaged: Bool
  ) throws(StoreError) -> StoreTail {
    guard earlier <= transaction.start.generation else {
      throw StoreError(
        .rolledBack,
        "the store is older than that state: generation \(transaction.start.generation), the state has \(earlier)",
        hint: "give the file that was written last")
    }
    let ring = transaction.start.ring.changes(after: earlier)
    let named = ring.flatMap(StoreChange.init(merging:))
    let (namedInserted, namedDeleted) = (named?.inserted ?? [], named?.deleted ?? [])
    var entries: [StoreTail.Entry] = []
    let replicas = try transaction.replicas
    let (own, first) = (replicas.own, earlier + transaction.start.lead)
    // Changes that a merge brought since.
    let risen = Set(
      replicas.entries.indices.filter { replicas.entries[$0].rose > earlier }.map { UInt32($0) })
    func isNew(_ dot: Dot) -> Bool { dot.replica == own && dot.counter > first || risen.contains(dot.replica) }
    var attached: Set<Int64> = []
    try transaction.forEachAttachmentRow { row throws(StoreError) in
      guard row.revision > earlier else { return }
      do throws(StoreError) {
        let record = try transaction.attachmentRecord(row)
        if isNew(record.born) || isNew(record.nameDot) { attached.insert(row.document) }
      } catch {
        // The sum reports it.
        guard error.code == .damaged, skippingDamaged else { throw error }
      }
    }
    let sum = try transaction.sumOfRows { row, opener throws(StoreError) in
      let id = DocumentID(row.fields.id)
      let hasOtherAttachments = attached.contains(row.fields.id) || named?.updates(id) ?? false
      guard row.fields.revision > earlier || hasOtherAttachments else { return }
      let dots = DocumentDots(checked: try opener.openHead(row, acceptsNewer: true).dots)
      var changes = dots.changes(isNew)
      if hasOtherAttachments, changes.isEmpty { changes.insert(.changed) }
      // The ring combines a deletion and insertion with the same ID and collection into a change.
      if changes.contains(.inserted), named != nil, !namedInserted.contains(id) || namedDeleted.contains(id) {
        changes.insert(.deleted)
      }
      // The ring lists documents with changed dates, but not rows that were only re-encrypted.
      guard !changes.isEmpty || named?.names(id) ?? true else { return }
      entries.append(
        StoreTail.Entry(
          id: id, collection: CollectionID(row.fields.collection), changes: changes.isEmpty ? [.changed] : changes))
    }
    if !skippingDamaged { try transaction.requireWhole(sum) }
    for (collection, documents) in named?.collections ?? [:] {
      for id in documents.deleted where try !transaction.hasRow(id) {
        entries.append(StoreTail.Entry(id: id, collection: collection, changes: [.deleted]))
      }
    }
    entries.sort { $0.id < $1.id }
    var changedCollections = Set(try transaction.collections().filter { $0.revision > earlier }.map(\.id))
    for (_, changes) in ring ?? [] { changedCollections.formUnion(changes.collections) }
    return StoreTail(
      since: earlier, generation: transaction.start.generation, entries: entries,
      changedCollections: Set(changedCollections.map { CollectionID($0) }), namesDeletions: named != nil,
      relation: relation, damaged: sum.damaged, isProved: transaction.isWhole(sum))
  }
}

extension StoreChange {
  /// Merges a ring's changes, or returns `nil` if the ring doesn't list all changes.
  fileprivate init?(merging ring: [(generation: UInt64, changes: RingChanges)]) {
    self.init(generation: 0)
    for (generation, changes) in ring { merge(StoreChange(changes, at: generation)) }
    guard isComplete else { return nil }
  }

  fileprivate func updates(_ id: DocumentID) -> Bool { collections.values.contains { $0.updated.contains(id) } }

  fileprivate func names(_ id: DocumentID) -> Bool {
    collections.values.contains { $0.updated.contains(id) || $0.moved.contains(id) || $0.inserted.contains(id) }
  }
}

extension DocumentDots {
  fileprivate func changes(_ isNew: (Dot) -> Bool) -> Set<StoreTail.Change> {
    guard !isNew(born) else { return [.inserted] }
    var changes: Set<StoreTail.Change> = []
    if ([text, title, key, attributes] + members.map(\.dot)).contains(where: isNew) { changes.insert(.changed) }
    if isNew(place) { changes.insert(.moved) }
    return changes
  }
}
