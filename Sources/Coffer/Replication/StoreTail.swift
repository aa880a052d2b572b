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
    let named = namedChanges(since: earlier)
    var entries: [StoreTail.Entry] = []
    let sum = try sumOfRows { row, opener throws(StoreError) in
      guard row.fields.revision > earlier else { return }
      var changes = try opener.openHead(row).stamps.changes(since: earlier)
      let id = DocumentID(row.fields.id)
      // The ring merges a deletion and an insertion of one id into changes of it.
      if changes.contains(.inserted), let named, !named.inserted.contains(id) { changes.insert(.deleted) }
      // The ring names changes of dates, and not the rows that made room.
      guard !changes.isEmpty || named?.names(id) ?? true else { return }
      entries.append(
        StoreTail.Entry(
          id: id, collection: CollectionID(row.fields.collection), changes: changes.isEmpty ? [.changed] : changes))
    }
    let isProved = sum.isComplete && sum.set == state.set && UInt64(sum.count) == state.count
    if !skippingDamaged {
      if let damaged = sum.damaged.first {
        throw StoreError(.damaged, damaged.reason, hint: "\(.verify) shows what else is", documentID: damaged.id)
      }
      guard isProved else { throw .setMismatch }
    }
    for (collection, documents) in named?.collections ?? [:] {
      for id in documents.deleted where try !hasRow(id) {
        entries.append(StoreTail.Entry(id: id, collection: collection, changes: [.deleted]))
      }
    }
    entries.sort { $0.id < $1.id }
    return StoreTail(
      since: earlier, generation: start.generation, entries: entries,
      changedCollections: try changedCollections(since: earlier), namesDeletions: named != nil, check: check,
      damaged: sum.damaged, isProved: isProved)
  }

  /// The ring's changes, merged; nil if it does not reach back, or if more changed than it names.
  private func namedChanges(since earlier: UInt64) -> StoreChange? {
    guard let changes = start.ring.changes(after: earlier) else { return nil }
    var merged = StoreChange(generation: earlier)
    for (generation, changes) in changes { merged.merge(StoreChange(changes, at: generation)) }
    return merged.isComplete ? merged : nil
  }

  private func changedCollections(since earlier: UInt64) throws(StoreError) -> Set<CollectionID> {
    var changed = Set(try collections().filter { $0.revision > earlier }.map { CollectionID($0.id) })
    for (_, changes) in start.ring.changes(after: earlier) ?? [] {
      changed.formUnion(changes.collections.map { CollectionID($0) })
    }
    return changed
  }
}

extension StoreChange {
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
