internal import CofferRecords

// The starting state for the first subscriber, and polling for commits of other processes.

extension StoreEngine {
  /// Returns the state that the first subscriber's changes follow.
  package func beginning() throws(StoreError) -> ChangeFeed.Beginning {
    try reading { transaction throws(StoreError) in
      ChangeFeed.Beginning(state: transaction.state, names: try transaction.followedCollections())
    }
  }

  /// Finds and reports commits of other processes.
  package func poll() {
    guard session.feed.shouldPoll else { return }
    do throws(StoreError) {
      try reading { transaction throws(StoreError) in
        guard let reported = session.feed.reported(before: transaction.state.generation) else { return }
        let start = ContinuousClock.now
        let changes = try transaction.changes(since: reported)
        session.feed.didPoll(
          changes, since: reported, to: transaction.state,
          names: changes.collections?.isEmpty == true ? nil : try transaction.followedCollections(),
          took: ContinuousClock.now - start)
      }
    } catch {
      // Locks and suspensions are temporary, so the next poll retries. Closing the store ends the subscriptions itself,
      // without an error. Any other error ends them.
      guard error.code != .locked, error.code != .suspended, error.code != .closed else { return }
      session.feed.finish(error)
    }
  }
}
