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
  /// Commits of this process are reported at once, one change each, together with commits of other processes right
  /// before; an iteration that is slower gets them merged into one. Other processes' commits are found four times a
  /// second, and their changes are proved: the store's sealed state names those of the latest fifty commits or so,
  /// deletions too. A row that an attacker without a key plants, replaces or deletes is never reported.
  ///
  /// If more commits than that are new, or one changed very many documents, one walk reads every row's head. It reports
  /// changes of dates, and rows that made room for others, as updated, and a new parent as updated and moved; if
  /// documents were deleted, the change is not complete (``StoreChange/isComplete``). A walk makes writers wait in the
  /// rollback journal, and takes at most a quarter of the time. If the rows are not those that were written, the
  /// iteration throws `damaged`.
  ///
  /// Subscriptions take four short read transactions a second, some 10 µs of processor time each.
  ///
  /// - Parameter collection: reports only this collection, which need not exist yet; nil reports all.
  /// - Returns: a sequence each of whose iterators gets every change; an error, such as `locked` or `keyChanged`, is
  ///   thrown by the iteration.
  public func changes(in collection: DocumentCollection? = nil) -> StoreChanges {
    StoreChanges(subscription(to: collection?.name))
  }
}
