internal import CofferRecords

/// The documents that a store has changed since an earlier state of it: after a failover, what the old file has and the
/// new branch lacks.
public struct StoreTail: Sendable, Hashable {
  /// A change of a document since that state. A document may have several.
  public enum Change: String, Sendable, CaseIterable {
    /// The document is new since.
    case inserted
    /// Its text, title, key, attributes or flags changed. If the ring does not reach back, also a document that has
    /// other dates, or made room for others in the order.
    case changed
    /// It has another place, parent or collection.
    case moved
    /// It is gone.
    case deleted
  }

  /// One document and its changes.
  public struct Entry: Sendable, Hashable {
    /// The document's id.
    public let id: DocumentID
    /// The collection in which it is; for a deleted one, was.
    public let collection: CollectionID
    /// The changes: never empty. `deleted` and `inserted` together: another document has the id now. Otherwise each of the
    /// two is alone.
    public let changes: Set<Change>
  }

  /// The generation of the earlier state.
  public let since: UInt64
  /// The store's generation.
  public let generation: UInt64
  /// The changed documents, sorted by id.
  public let entries: [Entry]
  /// The collections that were created, renamed, changed or dropped.
  public let changedCollections: Set<CollectionID>
  /// Whether `entries` has every deleted document, and `changedCollections` every dropped collection: the state's ring
  /// reaches back to the earlier state.
  public let namesDeletions: Bool
  /// The comparison with the anchor of the earlier state; nil if a number named it.
  public let check: AnchorCheck?
  /// Rows that do not open; empty unless damage is skipped.
  public let damaged: [DamagedDocument]
  /// Whether the rows are exactly those that were written: set hash and count are the state's. Always true unless damage
  /// is skipped.
  public let isProved: Bool
}

extension StoreTransaction {
  /// The changes since the state of an anchor.
  ///
  /// - Throws: as `checkAnchor`, and ``tail(since:check:skippingDamaged:)``.
  func tail(since anchor: Anchor, skippingDamaged: Bool) throws(StoreError) -> StoreTail {
    // A newer root key is accepted: nothing is decided by this comparison, and the result has it.
    let compared = try anchor.compare(
      with: start, of: keys.session, mark: try self.anchor().mark, .rekeyKnown, hasPin: false, provesRootKey: true)
    switch compared {
    case .success(let check): return try tail(since: anchor.generation, check: check, skippingDamaged: skippingDamaged)
    case .failure(let fault): throw anchor.error(fault, found: start)
    }
  }

  /// One walk over all rows, which sums them; the ring of the state names the deletions if it reaches back.
  ///
  /// - Throws: `rolledBack` if the store is older than that generation; `damaged`, `setMismatch` unless
  ///   `skippingDamaged`.
  func tail(since earlier: UInt64, check: AnchorCheck? = nil, skippingDamaged: Bool) throws(StoreError) -> StoreTail {
    guard earlier <= start.generation else {
      throw StoreError(
        .rolledBack, "the store is older than that state: generation \(start.generation), the state has \(earlier)",
        hint: "give the file that was written last")
    }
    let ring = start.ring.changes(after: earlier)
    let named = ring.flatMap(StoreChange.init(merging:))
    let (namedInserted, namedDeleted) = (named?.inserted ?? [], named?.deleted ?? [])
    var entries: [StoreTail.Entry] = []
    let sum = try sumOfRows { row, opener throws(StoreError) in
      guard row.fields.revision > earlier else { return }
      var changes = try opener.openHead(row).stamps.changes(since: earlier)
      let id = DocumentID(row.fields.id)
      // The ring merges a deletion and an insertion of one id in one collection into changes of it.
      if changes.contains(.inserted), named != nil, !namedInserted.contains(id) || namedDeleted.contains(id) {
        changes.insert(.deleted)
      }
      // The ring names changes of dates, and not the rows that made room.
      guard !changes.isEmpty || named?.names(id) ?? true else { return }
      entries.append(
        StoreTail.Entry(
          id: id, collection: CollectionID(row.fields.collection), changes: changes.isEmpty ? [.changed] : changes))
    }
    if !skippingDamaged { try requireWhole(sum) }
    for (collection, documents) in named?.collections ?? [:] {
      for id in documents.deleted where try !hasRow(id) {
        entries.append(StoreTail.Entry(id: id, collection: collection, changes: [.deleted]))
      }
    }
    entries.sort { $0.id < $1.id }
    var changedCollections = Set(try collections().filter { $0.revision > earlier }.map(\.id))
    for (_, changes) in ring ?? [] { changedCollections.formUnion(changes.collections) }
    return StoreTail(
      since: earlier, generation: start.generation, entries: entries,
      changedCollections: Set(changedCollections.map { CollectionID($0) }), namesDeletions: named != nil, check: check,
      damaged: sum.damaged, isProved: isWhole(sum))
  }
}

extension StoreChange {
  /// The changes of a ring, merged; nil if more changed than it names.
  fileprivate init?(merging ring: [(generation: UInt64, changes: RingChanges)]) {
    self.init(generation: 0)
    for (generation, changes) in ring { merge(StoreChange(changes, at: generation)) }
    guard isComplete else { return nil }
  }

  fileprivate func names(_ id: DocumentID) -> Bool {
    collections.values.contains { $0.updated.contains(id) || $0.moved.contains(id) || $0.inserted.contains(id) }
  }
}

extension DocumentStamps {
  fileprivate func changes(since earlier: UInt64) -> Set<StoreTail.Change> {
    guard born <= earlier else { return [.inserted] }
    var changes: Set<StoreTail.Change> = []
    if edited > earlier { changes.insert(.changed) }
    if placed > earlier { changes.insert(.moved) }
    return changes
  }
}
