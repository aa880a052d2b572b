internal import CofferRecords
public import CofferSQLite

extension DocumentStore {
  /// The list of a collection and each change of it, for a list on a screen.
  ///
  /// ```swift
  /// var rows: [DocumentHeader] = []
  /// for try await change in store.observe(notes, first: 100) {
  ///   try change.apply(to: &rows)  // or hand its indexes to a table view
  /// }
  /// ```
  ///
  /// The first element inserts the list into an empty one; each later one is the difference between two moments, of
  /// commits of this process and of others as ``changes(in:)`` finds them. A task that is slower than the commits gets
  /// one difference for all of them. Each element is from one read transaction and names its generation. Texts are not
  /// read: a row that was updated may have another text and the same header. Rows that only make room for others get
  /// new positions without being reported: page on with `offset`, not with a header of this list.
  ///
  /// The list has at most `limit` documents, from the top. Observe a long list from its top: give a limit, and raise
  /// ``ObservedList/limit`` when the user reaches the end. The next element inserts the rows that are missing.
  ///
  /// A collection that doesn't exist yet is empty and fills with its first document; one that is dropped becomes empty;
  /// a renamed one is followed.
  ///
  /// An iteration keeps 40 bytes or so for each row. A change costs reading the headers that changed, and, if it
  /// inserts, moves or deletes, copying 16 bytes for each row. The list is read again if more than a quarter of it
  /// changed, if a change is not complete (``StoreChange/isComplete``), or if its order changes while there are more
  /// documents than the limit.
  ///
  /// - Returns: a sequence each of whose iterators begins with the list. Its iteration throws errors of reading, such
  ///   as `locked`, `keyChanged` and `damaged`, and ends with them.
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

  /// The result of a query, and its result again after each change of the documents that it reads.
  ///
  /// ```swift
  /// for try await result in store.observe(query: "SELECT title FROM notes WHERE price < ?", 10) {
  ///   show(result)
  /// }
  /// ```
  ///
  /// The first element comes at once; later ones follow commits, of this process or of others, that name a collection
  /// whose view the statement reads; after any commit for a statement that reads `documents`. A task that is slower
  /// than the commits gets one result for all of them. Each element is from one read transaction. The result may be
  /// equal to the one before.
  ///
  /// - Returns: a sequence each of whose iterators begins with the present result. Its iteration throws the errors of
  ///   ``ReadScope/query(_:_:)`` and of reading, such as `locked` and `keyChanged`, and ends with them.
  public func observe(query sql: String, _ parameters: (any SQLiteValueConvertible & Sendable)?...) -> ObservedQuery {
    ObservedQuery(
      sql, parameters.map { $0?.sqliteValue },
      QuerySource(
        subscribe: subscription(to: nil),
        read: { [weak engine] sql, parameters in
          guard let engine else { return nil }
          try engine.catchUpIndexes()
          return try engine.reading(nil) { transaction throws(StoreError) in
            let (result, reads) = try transaction.queryNotingReads(sql, parameters)
            return (result, reads, transaction.state.generation)
          }
        }))
  }

  /// Subscribes to the commits of one collection, or of all; keeps no store open.
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
