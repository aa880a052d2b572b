internal import CofferRecords
internal import CofferSQLite

extension DocumentStore {
  /// What is committed from now on, by this process and by others.
  ///
  /// ```swift
  /// for try await change in store.changes(in: notes) {
  ///   show(change.inserted, change.updated, change.moved, change.deleted)
  /// }
  /// ```
  ///
  /// A commit of this process is told at once and exactly, and one at a time unless the iteration is slower: then as one
  /// change, whatever came. Where another process committed right before it, what that did to the same documents is told
  /// along. Commits of others are found at most four times a second, the latest state only, by one scan of the rows; a
  /// document that they moved counts as updated too.
  ///
  /// Listening takes a walk over an index when the first one begins, 24 bytes of memory a document, and, while nothing is
  /// committed, four short read transactions a second, some 10 µs of processor time each. A scan reads every
  /// row's head, in the rollback journal while writers wait, and takes at most a quarter of the time.
  ///
  /// - Parameter collection: documents of this one only, which need not be there yet; nil means all.
  /// - Returns: a sequence for one task; an error, such as `locked` or `keyChanged`, is thrown by its iteration.
  public func changes(in collection: DocumentCollection? = nil) -> StoreChanges {
    StoreChanges(
      subscription: engine.session.feed.subscribe(
        to: collection?.name, { () throws(StoreError) in try engine.baseline() },
        look: { [weak engine] in engine?.look() }))
  }
}
