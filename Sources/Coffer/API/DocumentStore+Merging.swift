public import CofferDocuments
internal import CofferRecords

// MARK: - Merging

extension DocumentStore {
  /// Brings the changes of another copy into this store, in one transaction.
  ///
  /// ```swift
  /// let report = try copy.merge(original)
  /// if !report.isMerged { show(report.conflicts) }
  /// ```
  ///
  /// The other store is the original of this editable copy, an editable copy of this store, another copy of the same
  /// original, or another file of this store. Changes are found by the generations and identities that every copy
  /// keeps:
  /// - A document that changed there only becomes as it is there; one that changed here only stays. One that was edited
  ///   on one side and moved on the other is both.
  /// - A document that was deleted there is deleted, and one that was deleted here stays deleted, unless the other side
  ///   edited it.
  /// - A document that neither side moved keeps its place. Any other one goes behind the nearest document before it
  ///   that neither side moved.
  /// - Two documents with one id stay two: the one that its original did not make gets a new id.
  ///
  /// A conflict is decided by the policy; the losing side of equal keys loses the key only. ``MergeReport/Reason`` has
  /// the kinds of conflicts.
  ///
  /// After a merge with its original, the copy counts as made from the original's present state: merging again does
  /// nothing. Other copies keep no note of their merges:
  /// - An edit that both have by an earlier merge is a conflict if one of them edits the document again.
  /// - A document that one took over and deleted comes again with the next merge. So does a document that an original
  ///   took over from a copy, if the copy deletes it before it has merged with the original.
  /// - A copy of a copy compares the generations of the copy alone. If that merged with its original meanwhile, and too
  ///   long ago for its state to name the changes, a new document of the original is a conflict
  ///   (deletedHereEditedThere).
  ///
  /// Dates that were changed alone have no generation: the later date of modification stays.
  ///
  /// Changes are proved before they are taken: by the last changes in the other store's sealed state, whose generations
  /// the rows must have, or by one walk over all of its rows, whose sum must be the state's. The first proof has a
  /// limit: an attacker who has another branch of the other store can put in its row of a document, if both branches
  /// changed that document in the same generation. ``MergeOptions/verifiesOther`` proves all rows.
  ///
  /// Costs a few lookups for each changed document as long as the state of the other store names its changes, which it
  /// does for the last fifty commits or so; otherwise about what `verify(.quick)` does.
  ///
  /// - Parameters:
  ///   - other: the store with the changes, opened with its key; it is only read.
  ///   - base: for two files of the same store, such as a backup that was written to: an older file from which both
  ///     descend. It isn't needed if one of the two descends from the other, or both from a third state, as long as
  ///     their states still hold the marks that prove it.
  ///   - policy: decides conflicts. With `fail`, a merge with conflicts changes nothing and reports them.
  ///   - options: a dry run, damaged documents, and the proof of the other store.
  ///   - progress: called with the number of compared documents; if it throws, nothing is changed.
  /// - Returns: the documents and collections that were changed or in conflict.
  /// - Throws: `invalidArgument` for stores without a common origin; `rolledBack` and `anchorMismatch` for an original
  ///   that is older than this copy knows it, or another one; `setMismatch` if nothing proves the changes; `damaged`
  ///   for a document of either store that does not open; `duplicateKey` if new settings of a collection make two keys
  ///   one; `rekeyUnfinished`; and errors of `progress`. This store is unchanged then. The other one is never changed.
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

  /// Brings single documents back from a backup or another copy, in one transaction: with their ids, titles, texts,
  /// keys, attributes, dates, parents and places. A document that is here becomes as it is there.
  ///
  /// Each goes behind the nearest document that it is behind in the backup, or else before the nearest one that it is
  /// before. Its collection is made again if it was dropped. A parent that is not in the collection any more is left
  /// out.
  ///
  /// The backup is proved by a walk over all of its rows, which costs what `verify(.quick)` does.
  ///
  /// - Parameters:
  ///   - ids: the documents, by their ids in the backup.
  ///   - backup: an open store with a common origin, such as a backup file of this store; it is only read.
  ///   - allowsDamage: takes documents from a backup whose rows are not all those that were written. Each document that
  ///     is taken opens, but it may be an older version than the backup had.
  /// - Returns: the outcomes, in the order of `ids`.
  /// - Throws: `noSuchDocument` for an id that the backup lacks; `alreadyExists` for one that another document has
  ///   here; `duplicateKey`; `invalidArgument` for a store without a common origin; `setMismatch` and `damaged` for the
  ///   backup. Nothing is changed then.
  @discardableResult
  public func putBack(_ ids: [DocumentID], from backup: DocumentStore, allowingDamage allowsDamage: Bool = false) throws
    -> [PutBackOutcome]
  {
    try requireOtherFile(backup)
    return try backup.engine.read { there in
      if !allowsDamage { try there.requireWhole() }
      return try engine.write { here in
        try here.requireCommonOrigin(with: there, hint: "export them there, and import them here")
        let outcomes = try here.putBack(ids, from: there)
        try backup.engine.connections.original?.requireUnchanged()
        return outcomes
      }
    }
  }
}
