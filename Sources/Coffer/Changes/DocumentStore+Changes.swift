internal import CofferSQLite

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
      subscription: session.feed.subscribe(
        to: collection?.name, { () throws(StoreError) in try baseline() }, poll: { [weak self] in self?.poll() }))
  }

  private func baseline() throws(StoreError) -> ChangeFeed.Baseline {
    try reading { transaction throws(StoreError) in
      let statement = try storing { () throws(SQLiteError) in try transaction.database.statement(SQL.places) }
      defer { statement.reset() }
      var rows: [ChangeFeed.Baseline.Row] = []
      rows.reserveCapacity(Int(clamping: min(transaction.state.count, 1 << 20)))
      while try storing({ () throws(SQLiteError) in try statement.step() }) {
        let columns = statement.columns()
        let position = DocumentPosition(
          collection: UInt32(truncatingIfNeeded: columns[1].integer), position: columns[2].integer)
        rows.append((columns[0].integer, position))
      }
      rows.sort { $0.id < $1.id }
      return ChangeFeed.Baseline(
        rows: rows, names: try transaction.collectionNames(), generation: transaction.state.generation)
    }
  }

  /// Finds and reports commits of other processes.
  func poll() {
    guard session.feed.shouldPoll else { return }
    do throws(StoreError) {
      try reading { transaction throws(StoreError) in
        let generation = transaction.state.generation
        guard let (baseline, localCommits) = session.feed.reported(before: generation) else { return }
        let start = ContinuousClock.now
        var scan = ChangeScan(baseline, localCommits, generation: generation)
        try scan.run(transaction.database)
        session.feed.didPoll(
          scan.change, since: baseline.generation, scan.rows, names: try transaction.collectionNames(),
          took: ContinuousClock.now - start)
      }
    } catch {
      // A lock is released some time, so the next poll tries again. Any other error ends the subscriptions.
      guard error.code != .locked else { return }
      session.feed.finish(error)
    }
  }
}

extension StoreTransaction {
  func collectionNames() throws(StoreError) -> [CollectionID: String] {
    Dictionary(uniqueKeysWithValues: try collections().map { (CollectionID($0.id), $0.name) })
  }
}
