internal import CofferRecords

// What subscribers of changes are compared with, and the polling for commits of other processes.

extension StoreEngine {
  /// Every document's place, for the first subscriber.
  func baseline() throws(StoreError) -> ChangeFeed.Baseline {
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
