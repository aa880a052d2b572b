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
  /// The other store can be this editable copy's original, an editable copy of this store, another copy of the same
  /// original, or another file of this store. Changes are detected by the generations and identities that every copy
  /// keeps:
  /// - A document that changed only in the other store takes the other store's version. A document that changed only
  ///   here is unchanged. If it was edited in one store and moved in the other, both changes apply.
  /// - A document that was deleted in either store is deleted, unless the other store edited it.
  /// - A document that neither store moved keeps its position. Any other document follows the nearest preceding
  ///   document that neither store moved.
  /// - Two different documents with the same ID are both kept. The document that doesn't come from the original gets a
  ///   new ID.
  ///
  /// The policy resolves conflicts. If two keys are equal, the losing document loses only its key.
  /// ``MergeReport/Reason`` lists the kinds of conflicts.
  ///
  /// After merging its original, a copy counts as made from the original's current state, so merging again has no
  /// effect. Other copies don't record their merges:
  /// - An edit that both copies have from an earlier merge is a conflict if one of them edits the document again.
  /// - A document that a copy received and then deleted is added again by the next merge. The same happens to a
  ///   document that an original received from a copy, if the copy deletes the document before it merges the original.
  /// - A copy of a copy compares only the first copy's generations. If the first copy merged its original too long ago
  ///   for its state to list the changes, the original's new documents are conflicts (deletedHereEditedThere).
  ///
  /// A document whose dates alone changed doesn't get a new generation, so the later modification date is kept.
  ///
  /// Changes are verified before they're applied, either by the last changes in the other store's encrypted state,
  /// whose generations the rows must have, or by one scan of all rows, whose sum must match the state. The first method
  /// has a limit. An attacker with another branch of the other store can insert that branch's row of a document, if
  /// both branches changed the document in the same generation. ``MergeOptions/verifiesOther`` verifies all rows.
  ///
  /// Costs a few lookups for each changed document if the other store's state lists the changes, which covers about the
  /// last 180 commits. Otherwise, costs about the same as `verify(.quick)`.
  ///
  /// - Parameters:
  ///   - other: The open store with the changes, which is only read.
  ///   - base: An older file from which both stores descend, for merging two files of the same store, such as a backup
  ///     with later changes. You don't need it if one store descends from the other, or both from a third state, as
  ///     long as their states still contain the marks that prove it.
  ///   - policy: Resolves conflicts. With `fail`, a merge with conflicts reports them without changing the store.
  ///   - options: The options for a dry run, for damaged documents, and for verifying the other store.
  ///   - progress: Called with the number of compared documents. Throwing from it leaves the store unchanged.
  /// - Returns: The changed documents and collections, and the conflicts.
  /// - Throws: `invalidArgument` if the stores don't have a common origin. `rolledBack` for an original that's older
  ///   than the state that this copy was made from, and `anchorMismatch` for a different original. `setMismatch` if the
  ///   changes can't be verified. `damaged` if a document of either store can't be decrypted. `duplicateKey` if a
  ///   collection's new settings make two keys equal. `rekeyUnfinished`, and errors of `progress`. This store is
  ///   unchanged then. The other store is never changed.
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
  /// attributes, dates, parents and positions. Replaces documents that still exist in this store.
  ///
  /// Each document follows the nearest document that precedes it in the backup. If that's missing, it precedes the
  /// nearest document that follows it in the backup. A dropped collection is created again. A parent that isn't in the
  /// collection anymore is omitted.
  ///
  /// First verifies all rows of the backup, at the cost of `verify(.quick)`.
  ///
  /// - Parameters:
  ///   - ids: The documents' IDs in the backup.
  ///   - backup: An open store with a common origin, for example a backup file of this store. It's only read.
  ///   - allowsDamage: Whether to accept a backup that fails the verification. Restored documents are intact, but may
  ///     be older than they were in the backup.
  /// - Returns: The outcomes in the order of `ids`.
  /// - Throws: `noSuchDocument` for an ID that isn't in the backup. `alreadyExists` if the ID belongs to another
  ///   document here. `duplicateKey`. `invalidArgument` for a store without a common origin. `setMismatch` and
  ///   `damaged` for the backup. This store is unchanged then.
  @discardableResult
  public func restore(_ ids: [DocumentID], from backup: DocumentStore, allowingDamage allowsDamage: Bool = false) throws
    -> [RestoreOutcome]
  {
    try requireOtherFile(backup)
    return try backup.engine.read { there in
      if !allowsDamage { try there.requireWhole() }
      return try engine.write { here in
        try here.requireCommonOrigin(with: there, hint: "export them there, and import them here")
        let outcomes = try DocumentRestoration(into: here, from: there).restore(ids)
        try backup.engine.connections.original?.requireUnchanged()
        return outcomes
      }
    }
  }
}
