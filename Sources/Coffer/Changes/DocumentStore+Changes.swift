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
      subscription: session.feed.subscribe(
        to: collection?.name, { () throws(StoreError) in try baseline() }, look: { [weak self] in self?.look() }))
  }

  private func baseline() throws(StoreError) -> ChangeFeed.Baseline {
    try reading { transaction throws(StoreError) in
      let statement = try transaction.database.statement(SQL.places)
      defer { statement.reset() }
      var entries: [ChangeFeed.Entry] = []
      entries.reserveCapacity(Int(clamping: min(transaction.state.count, 1 << 20)))
      while try statement.step() {
        let columns = statement.columns()
        entries.append(
          ChangeFeed.Entry(
            id: columns[0].integer, position: columns[2].integer,
            collection: UInt32(truncatingIfNeeded: columns[1].integer)))
      }
      entries.sort { $0.id < $1.id }
      return ChangeFeed.Baseline(
        entries: entries, names: try transaction.collectionNames(), generation: transaction.state.generation)
    }
  }

  /// Looks once for commits of other processes, and tells them.
  func look() {
    guard session.feed.isLookDue else { return }
    do throws(StoreError) {
      try reading { transaction throws(StoreError) in
        let generation = transaction.state.generation
        guard let known = session.feed.known(at: generation) else { return }
        let start = ContinuousClock.now
        var scan = ChangeScan(known, generation: generation)
        try scan.run(transaction.database)
        session.feed.found(
          scan.change, since: known.told, scan.entries, names: try transaction.collectionNames(),
          took: ContinuousClock.now - start)
      }
    } catch {
      // Whoever holds a lock lets go of it some time; everything else is for the subscribers to know.
      guard error.code != .locked else { return }
      session.feed.finish(error)
    }
  }
}
