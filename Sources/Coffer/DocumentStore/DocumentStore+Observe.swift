internal import CofferEngine
internal import CofferRecords

extension DocumentStore {
  /// Returns a sequence of a collection's list and its changes, for displaying the list.
  ///
  /// ```swift
  /// var rows: [DocumentHeader] = []
  /// for try await change in store.observe("notes", first: 100) {
  ///   try change.apply(to: &rows)  // or hand its indexes to a table view
  /// }
  /// ```
  ///
  /// The first element inserts the whole list. Each later element is the difference after commits of this process or
  /// other processes, which are detected as in ``changes(in:)``. A slow task receives one difference for several
  /// commits. Each element comes from one read transaction and contains its generation. Texts aren't read, so an
  /// updated row may have the same header and a different text.
  ///
  /// The list contains at most `limit` documents, from the top. For a long list, set a limit, and raise it with
  /// ``StoreObservation/setLimit(_:)`` when the user reaches the end. The next element then inserts the missing rows.
  ///
  /// A missing collection is an empty list, which fills when its first document is inserted. A dropped collection
  /// becomes empty, and a renamed collection is followed.
  ///
  /// Each iteration uses about 40 bytes in memory for each row. A change requires reading the changed headers, and some
  /// neighboring headers for each new position. If it inserts, moves or deletes documents, it also copies 16 bytes for
  /// each row. The list is reread if more than a quarter of it changed, or if a change isn't complete
  /// (``StoreChange/isComplete``).
  ///
  /// - Returns: A sequence whose iterators each start with the list. The iteration ends with an error if reading fails,
  ///   for example with `keyChanged` or `damaged`.
  public func observe(
    _ collection: DocumentCollection, first limit: Int = .max
  ) -> StoreObservation<ListChange<DocumentHeader>> {
    list(of: collection, .headers, limit)
  }

  /// Returns a sequence of a collection's value list and its changes.
  ///
  /// ```swift
  /// var open: [StoredValue<Task>] = []
  /// for try await change in store.observe(Task.self, in: "tasks", where: { !$0.isDone }) {
  ///   try change.apply(to: &open)
  /// }
  /// ```
  ///
  /// The elements are differences, like the elements of ``observe(_:first:)``. If a change causes `isWanted` to return
  /// `false` for a value, the value is deleted from the list. In the opposite case, the value is inserted.
  ///
  /// The first element decrypts the collection's texts until the limit is reached. After a commit, the iteration
  /// decrypts just the changed documents' texts and the texts that move up into the list. It doesn't keep values in
  /// memory, so it uses about 40 bytes for each row.
  ///
  /// - Parameters:
  ///   - type: The type of the values. Older values are converted (``VersionedValue``).
  ///   - collection: The collection, which doesn't need to exist yet.
  ///   - limit: The maximum number of rows.
  ///   - isSkippingOthers: A Boolean value that indicates whether to skip documents that aren't values of this type,
  ///     instead of throwing an error.
  ///   - isWanted: Returns `false` for values to omit. The value must fully determine the result.
  /// - Returns: A sequence whose iterators each start with the list. The iteration ends with an error if reading fails,
  ///   for example with `notDecodable` and the document's ID if a document isn't such a value.
  public func observe<Value: Decodable & Sendable>(
    _ type: Value.Type, in collection: DocumentCollection, first limit: Int = .max,
    skippingOthers isSkippingOthers: Bool = false, where isWanted: @escaping @Sendable (Value) -> Bool = { _ in true }
  ) -> StoreObservation<ListChange<StoredValue<Value>>> {
    list(of: collection, .values(skippingOthers: isSkippingOthers, where: isWanted), limit)
  }

  /// Returns a sequence of the results of any reads, with a new result after each commit that changes them.
  ///
  /// ```swift
  /// let counts = store.observe { tx in
  ///   (open: try tx.values(Task.self, in: "tasks") { !$0.isDone }.count, all: try tx.count(in: "tasks"))
  /// }
  /// for try await count in counts { show(count.open, count.all) }
  /// ```
  ///
  /// Each run of the closure is one read transaction. The first run returns the current result. The closure runs again
  /// after commits by this process or other processes that change documents read by ID in the last run, or collections
  /// read in other ways. Any commit reruns a closure that reads `documents` in a statement, that reads `generation`,
  /// `collections`, `children` or information about the store, or that reads more than 65,536 documents by ID. A slow
  /// task receives one result for several commits.
  ///
  /// If the result is `Equatable`, a result that equals the previous result is omitted, and an iteration keeps the last
  /// result to compare it. For the differences between results, use ``StoreObservation/differences(by:)``.
  ///
  /// - Parameter reads: Reads in the scope of the call, on a thread of this library. The result must not depend on
  ///   changing values outside the store, because a change outside the store doesn't rerun the closure.
  /// - Returns: A sequence whose iterators each start with the current result. The iteration ends with an error that
  ///   the closure throws. An error that isn't a ``StoreError`` is thrown as `queryFailed`, and a `CancellationError`
  ///   ends the iteration without an error. To observe your own errors, return a `Result`.
  public func observe<Result: Sendable>(
    _ reads: @escaping @Sendable (inout ReadTransaction) throws -> Result
  ) -> StoreObservation<Result> {
    let store = observedStore
    return StoreObservation { ReadingIteration(ClosureReads(reads), store) }
  }

  private func list<Element>(
    of collection: DocumentCollection, _ content: ListContent<Element>, _ limit: Int
  ) -> StoreObservation<ListChange<Element>> {
    let (store, window) = (observedStore, ListWindow(limit: limit))
    return StoreObservation(window: window) {
      ReadingIteration(ListReader(collection.name, content), store, window)
    }
  }

  private var observedStore: ObservedStore {
    ObservedStore(subscribe: subscription(to: nil, for: .reread)) { [weak engine] in engine }
  }

  /// Returns a closure that subscribes to one or all collections' commits, without keeping the store open.
  func subscription(to name: String?, for use: ChangeUse) -> @Sendable () -> ChangeSubscription {
    { [weak engine, feed = engine.session.feed] in
      feed.subscribe(
        to: name, for: use,
        { () throws(StoreError) in
          guard let engine else { throw .storeClosed }
          return try engine.beginning()
        }, poll: { [weak engine] in engine?.poll() })
    }
  }
}
