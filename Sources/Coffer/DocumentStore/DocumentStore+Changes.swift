internal import CofferEngine
internal import CofferRecords

extension DocumentStore {
  /// Returns a sequence of the IDs in all later commits by this process and other processes.
  ///
  /// ```swift
  /// for try await change in store.changes(in: "notes") {
  ///   show(change.inserted, change.updated, change.moved, change.deleted)
  /// }
  /// ```
  ///
  /// Commits of this process are reported immediately and individually, together with preceding commits of other
  /// processes. A slow iteration receives them merged into one change. Other processes' commits are detected four times
  /// a second. Their changes and deletions are verified, because the store's encrypted state lists the changes in about
  /// the last 180 commits. A row that an attacker without a key inserts, replaces or deletes is never reported.
  ///
  /// If more commits are new, or a commit changed very many documents, one scan reads every row's head. It reports
  /// changed dates as updated, and a new parent as updated and moved. If documents were deleted, the
  /// change isn't complete (``StoreChange/isComplete``). In rollback journal mode, writers wait during a scan. Scans
  /// take at most a quarter of the time. If rows don't match the written rows, the iteration throws `damaged`.
  ///
  /// Subscriptions use four short read transactions a second, with about 10 µs of processor time each.
  ///
  /// - Parameter collection: The collection, which doesn't need to exist yet, or `nil` to report all collections.
  /// - Returns: A sequence whose iterators each receive every change, and throw errors such as `locked` and
  ///   `keyChanged`. The first iterator reports changes since this call. Later iterators report changes since their
  ///   creation.
  public func changes(in collection: DocumentCollection? = nil) -> StoreObservation<StoreChange> {
    let subscribe = subscription(to: collection?.name, for: .report)
    let first = FirstSubscription(subscribe())
    return StoreObservation { ChangesIteration(first.take() ?? subscribe()) }
  }
}
