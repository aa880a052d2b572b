internal import CofferEngine
internal import CofferRecords
public import CofferSQLite
internal import CofferSearch

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
  /// The list contains at most `limit` documents, from the top. For a long list, set a limit, and raise
  /// ``ObservedList/limit`` when the user reaches the end. The next element then inserts the missing rows.
  ///
  /// A missing collection is an empty list, which fills when its first document is inserted. A dropped collection
  /// becomes empty, and a renamed collection is followed.
  ///
  /// Each iteration uses about 40 bytes of memory for each row. A change costs reading the changed headers. If it
  /// inserts, moves or deletes documents, it also copies 16 bytes for each row. The list is reread if more than a
  /// quarter of it changed, if a change isn't complete (``StoreChange/isComplete``), or if its order changes while
  /// there are more documents than the limit.
  ///
  /// - Returns: A sequence whose iterators each start with the list. The iteration ends with an error if reading fails,
  ///   for example with `locked`, `keyChanged` or `damaged`.
  public func observe(_ collection: DocumentCollection, first limit: Int = .max) -> ObservedList {
    let name = collection.name
    return ObservedList(
      collection, limit: max(0, limit),
      ListSource(
        subscribe: subscription(to: name),
        read: { [weak engine] work in
          guard let engine else { return nil }
          return .some(try engine.reading(nil) { transaction throws(StoreError) in try work(transaction) })
        }))
  }

  /// Returns a sequence of a query's results, with a new result after each change to the documents that it reads.
  ///
  /// ```swift
  /// for try await result in store.observe(query: "SELECT title FROM notes WHERE price < ?", 10) {
  ///   show(result)
  /// }
  /// ```
  ///
  /// The first element is the current result. Later elements follow commits, by this process or other processes, to a
  /// collection whose view the statement reads, or any commit if the statement reads `documents`. A slow task receives
  /// one result for several commits. Each element comes from one read transaction. A result may be equal to the
  /// previous result.
  ///
  /// - Returns: A sequence whose iterators each start with the current result. The iteration ends with an error of
  ///   ``StoreReading/query(_:_:)`` or of reading, such as `locked` and `keyChanged`.
  public func observe(query sql: String, _ parameters: (any SQLiteValueConvertible & Sendable)?...) -> ObservedQuery {
    ObservedQuery(
      sql, parameters.map { $0?.sqliteValue },
      QuerySource(
        subscribe: subscription(to: nil),
        read: { [weak engine] sql, parameters in
          guard let engine else { return nil }
          func run() throws(StoreError) -> (QueryResult, QueryReads, UInt64) {
            try engine.reading(nil) { transaction throws(StoreError) in
              let (result, reads) = try QueryRunner(transaction).queryWithReads(sql, parameters)
              return (result, reads, transaction.state.generation)
            }
          }
          do throws(StoreError) {
            let result = try run()
            engine.updateOutdatedIndexes(atLeast: Int(IndexGap.dueDocuments))
            return result
          } catch {
            guard engine.canRepeatRead(after: error) else { throw error }
            return try run()
          }
        }))
  }

  /// Returns a closure that subscribes to one or all collections' commits, without keeping the store open.
  func subscription(to name: String?) -> @Sendable () -> ChangeSubscription {
    { [weak engine, feed = engine.session.feed] in
      feed.subscribe(
        to: name,
        { () throws(StoreError) in
          guard let engine else { throw .storeClosed }
          return try engine.beginning()
        }, poll: { [weak engine] in engine?.poll() })
    }
  }
}
