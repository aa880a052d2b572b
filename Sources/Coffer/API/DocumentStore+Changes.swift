internal import CofferRecords

extension DocumentStore {
  /// The commits from now on, by this process and by others.
  ///
  /// ```swift
  /// for try await change in store.changes(in: notes) {
  ///   show(change.inserted, change.updated, change.moved, change.deleted)
  /// }
  /// ```
  ///
  /// Commits of this process are reported at once and exactly, one change each; an iteration that is slower gets them
  /// merged into one. If another process committed just before, a local commit's change includes that process's changes
  /// to the same documents. Other processes' commits are found at most four times a second by one scan of the rows,
  /// which sees the latest state only; a document that they moved counts as updated too.
  ///
  /// The first subscription walks an index once. While there are subscriptions, they take 24 bytes of memory a document
  /// and four short read transactions a second, some 10 µs of processor time each. A scan reads every row's head, makes
  /// writers wait in the rollback journal, and takes at most a quarter of the time.
  ///
  /// - Parameter collection: reports only this collection, which need not exist yet; nil reports all.
  /// - Returns: a sequence for one task; an error, such as `locked` or `keyChanged`, is thrown by its iteration.
  public func changes(in collection: DocumentCollection? = nil) -> StoreChanges {
    StoreChanges(
      subscription: engine.session.feed.subscribe(
        to: collection?.name, { () throws(StoreError) in try engine.baseline() },
        poll: { [weak engine] in engine?.poll() }))
  }
}
