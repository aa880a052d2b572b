internal import CofferRecords

// The baseline of subscribers, and polling for commits of other processes.

extension StoreEngine {
  /// Every document's position, for the first subscriber.
  func baseline() throws(StoreError) -> ChangeFeed.Baseline {
    try reading { transaction throws(StoreError) in
      var rows: [ChangeFeed.Baseline.Row] = []
      rows.reserveCapacity(Int(clamping: min(transaction.state.count, 1 << 20)))
      let statement = try transaction.database.statement(SQL.places)
      defer { statement.reset() }
      while try statement.step() {
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
      // A lock is released some time later, so the next poll tries again. Any other error ends the subscriptions.
      guard error.code != .locked else { return }
      session.feed.finish(error)
    }
  }
}
