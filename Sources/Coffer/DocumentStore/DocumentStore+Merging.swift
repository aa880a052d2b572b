internal import CofferCopies
public import CofferDocuments
internal import CofferEngine
internal import CofferRecords

// MARK: - Merging

extension DocumentStore {
  /// Merges another copy's changes into this store in one transaction.
  ///
  /// ```swift
  /// let report = try copy.merge(original)
  /// if !report.isMerged { show(report.conflicts) }
  /// ```
  ///
  /// The two stores must descend from one store. They can be an original and its editable copies, copies made from
  /// other copies, or promoted, restored or salvaged files. You can merge them in any order and any number of times.
  /// Each store keeps a version vector, which records which changes it includes from every copy, so a merge takes only
  /// missing changes:
  /// - A document's parts merge separately: text, title, key, place (collection, position and parent) and each
  ///   top-level attribute. If the other store changed a part and this store didn't, the part takes the other store's
  ///   value.
  /// - A document has both stores' attachments, except attachments that either store removed. If an attachment's
  ///   names differ, the later name wins. A new attachment or name is an edit of its document.
  /// - If either store deleted a document, the document is deleted, unless the other store edited it. If the other
  ///   store lacks a document without having deleted it, the document isn't deleted here.
  /// - Positions travel with their documents, so stores that include the same changes have the same order.
  /// - A document keeps its ID if the ID is free in this store. Otherwise, it gets a new ID.
  ///
  /// The policy resolves conflicts. A conflict consists of two changes that the stores made without including each
  /// other's change. The changes set different values for the same part, or are an edit and a deletion.
  /// ``MergeReport/Reason`` lists the kinds of conflicts. Equal changes in both stores aren't a conflict and count as
  /// the later change.
  ///
  /// Equal keys and names aren't conflicts either. The document that got a key first holds it, and the other document's
  /// key reads as `nil` until the key is free. Collections with the same name that both stores created are one
  /// collection. If two collections were renamed to the same name, one of them reads as `name~1a2b3c4d`. A dropped
  /// collection remains listed while it contains documents added or changed elsewhere. A cycle of parents is cut at the
  /// latest move.
  ///
  /// The change with the higher count is the later change. Each store counts its commits, starting above every merged
  /// count, so clocks don't matter.
  ///
  /// A byte-for-byte copy is the same store. If you write to both files, they give different changes the same names,
  /// and the merge throws `anchorMismatch`. Promote one of the files before you write to it, or pass the file that both
  /// were copied from as `base`. Then continue with this store and stop using the other file.
  ///
  /// Changes are verified before they're applied, either by the last changes in the other store's encrypted state,
  /// whose generations the rows must have, or by one scan of all rows in both stores, whose sums must match the states.
  /// The first method has a limit. An attacker with another branch of the other store can insert that branch's row for
  /// a document, if both branches changed the document in the same generation. ``MergeOptions/verifiesOther`` verifies
  /// all rows.
  ///
  /// Costs a few lookups for each changed document if the other store's state lists the changes, which covers about the
  /// last 180 commits. Otherwise, and if the other store has or had attachments, costs about the same as
  /// `verify(.quick)`.
  ///
  /// - Parameters:
  ///   - other: The open store with the changes, which is only read.
  ///   - base: The file that both stores were copied from, or an older file, if both are files of the same store and
  ///     were written to. The other store's later changes get a new name. `nil` for all other stores.
  ///   - policy: Resolves conflicts. With `fail`, a merge with conflicts reports them without changing the store.
  ///   - options: The options for a dry run, for damaged documents, and for verifying both stores.
  ///   - progress: Called with the number of compared documents. Throwing from it leaves the store unchanged.
  /// - Returns: The changed documents and collections, and the conflicts.
  /// - Throws: `invalidArgument` if the stores don't descend from one store, if they are one file, or if `base` isn't
  ///   allowed for them or belongs to another store. `anchorMismatch` if both are files of the same store and were
  ///   written to, or if `base` isn't an older file of both. `rolledBack` if both are files of the same store with
  ///   different root keys, unless the options allow it. `otherFormat` if one store has made a migration that the other
  ///   hasn't (``OpenOptions/migrations``). `setMismatch` if the changes can't be verified. `damaged` if a document of
  ///   either store can't be decrypted. `noNumberLeft` if the store would have too many replicas. `rekeyUnfinished`,
  ///   and errors of `progress`. This store is unchanged then. The other store is never changed.
  public func merge(
    _ other: DocumentStore, base: DocumentStore? = nil, policy: MergePolicy = .fail,
    options: MergeOptions = MergeOptions(),
    progress: ProgressHandler? = nil
  ) throws -> MergeReport {
    try requireOtherFile(other)
    if let base { for store in [self, other] { try store.requireOtherFile(base) } }
    return try other.engine.read { theirs in
      try engine.merge(other.engine, by: base?.engine, from: theirs, policy, options, progress)
    }
  }

  private func requireOtherFile(_ other: DocumentStore) throws(StoreError) {
    guard try FileMark(engine.path).isSameFile(as: FileMark(other.engine.path)) else { return }
    throw StoreError(
      .invalidArgument, "\(other.engine.path) and \(engine.path) are one file", hint: "name another copy")
  }

  /// Restores documents from a backup or another copy in one transaction, with their IDs, titles, texts, keys,
  /// attributes, dates, parents, positions and attachments. Replaces documents that still exist in this store.
  ///
  /// An attachment that's still there is copied only if it's damaged. Attachments that the backup doesn't have are
  /// removed.
  ///
  /// Each document follows the nearest document that precedes it in the backup. If that's missing, it precedes the
  /// nearest document that follows it in the backup. A dropped collection is created again. A parent that isn't in the
  /// collection anymore is omitted.
  ///
  /// First verifies all backup rows, at the cost of `verify(.quick)`, unless `allowsDamage` is `true`.
  ///
  /// - Parameters:
  ///   - ids: The documents' IDs in the backup.
  ///   - backup: An open backup of this store, or another store that can be merged with it. It's only read.
  ///   - allowsDamage: Whether to skip the verification to accept a damaged backup. Restored documents are intact, but
  ///     may be older than they were in the backup, or in another place. Documents that an unfinished rekey of the
  ///     backup hasn't sealed again are refused, because a former key holder can have changed them.
  ///   - allowsRekey: Whether to accept a backup with another root key. Whoever had a former key can have written it.
  /// - Returns: The outcomes in the order of `ids`.
  /// - Throws: `noSuchDocument` for an ID that isn't in the backup. `alreadyExists` if the ID belongs to another
  ///   document here. `duplicateKey`. `invalidArgument` for a store that can't be merged with this store. `rolledBack`
  ///   for a backup with another root key, unless `allowsRekey` is `true`.
  ///   `setMismatch` and `damaged` for the backup. This store is unchanged then.
  @discardableResult
  public func restore(
    _ ids: [DocumentID], from backup: DocumentStore, allowingDamage allowsDamage: Bool = false,
    allowingRekey allowsRekey: Bool = false
  ) throws -> [RestoreOutcome] {
    try requireOtherFile(backup)
    return try backup.engine.read { there in
      let there = PairedStore(there, hint: "verify it, and restore from a sound copy of it")
      if !allowsDamage { try there.requireWholeInOrder() }
      return try engine.write { here in
        let restoration = try DocumentRestoration(
          into: here, from: there, proved: !allowsDamage, allowingRekey: allowsRekey)
        let outcomes = try restoration.restore(ids)
        try backup.engine.connections.original?.requireUnchanged()
        return outcomes
      }
    }
  }
}
