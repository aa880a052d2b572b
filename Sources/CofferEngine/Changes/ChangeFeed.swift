internal import CofferRecords
internal import Dispatch
internal import Synchronization

/// The feed that reports commits to subscribers, immediately for local commits and by polling for other processes.
///
/// A local commit reports its own change log. Another process's commit lists its changes in the sealed state, which a
/// poll or the next local commit reads.
package final class ChangeFeed: Sendable {
  /// The time between polls. Each poll costs one short read transaction if there aren't any commits.
  package static let interval: Duration = .milliseconds(250)

  private let state = Mutex(State())
  private let subscribed = Atomic<Bool>(false)

  var hasSubscribers: Bool { subscribed.load(ordering: .acquiring) }

  // MARK: Subscribers

  /// Adds a subscription.
  ///
  /// - Parameters:
  ///   - beginning: Reads the file. Called for the first subscriber.
  ///   - poll: Called every ``interval`` while there are subscribers.
  package func subscribe(
    to name: String?, for use: ChangeUse, _ beginning: () throws(StoreError) -> Beginning,
    poll: @escaping @Sendable () -> Void
  ) -> ChangeSubscription {
    while true {
      // Transactions that begin after this log their changes, so the first poll finds only commits of other processes.
      subscribed.store(true, ordering: .releasing)
      let isFirst = state.withLock { $0.subscribers.isEmpty }
      var initial: Result<Beginning, StoreError>?
      // Read outside the lock, because a commit takes the lock while it blocks readers.
      if isFirst { initial = Result { () throws(StoreError) in try beginning() } }
      if let subscriber = add(name, use, initial, poll) { return ChangeSubscription(subscriber, of: self) }
    }
  }

  /// Adds a subscriber, or returns `nil` without `beginning` if the last subscriber has ended and the state was
  /// dropped.
  /// - Parameter beginning: The first subscriber's state, or `nil` if the caller saw other subscribers.
  func add(
    _ name: String?, _ use: ChangeUse, _ beginning: Result<Beginning, StoreError>?,
    _ poll: @escaping @Sendable () -> Void
  ) -> ChangeSubscriber? {
    state.withLock { state in add(name, use, beginning, poll, to: &state) }
  }

  private func add(
    _ name: String?, _ use: ChangeUse, _ beginning: Result<Beginning, StoreError>?,
    _ poll: @escaping @Sendable () -> Void, to state: inout State
  ) -> ChangeSubscriber? {
    if state.subscribers.isEmpty {
      guard let beginning else { return nil }
      switch beginning {
      case .success(let beginning):
        state.begin(beginning)
      case .failure(let error):
        stop(&state)
        let subscriber = ChangeSubscriber(name: name, for: use, names: [:], after: 0)
        subscriber.finish(error)
        return subscriber
      }
    }
    let subscriber = ChangeSubscriber(
      name: name, for: use, names: state.names, after: state.reported?.generation ?? 0)
    state.subscribers[ObjectIdentifier(subscriber)] = subscriber
    // The end of the last subscriber may have cleared the flag since `subscribe` set it.
    subscribed.store(true, ordering: .releasing)
    if state.timer == nil { state.timer = Self.timer(poll) }
    return subscriber
  }

  private static func timer(_ poll: @escaping @Sendable () -> Void) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "coffer.changes"))
    let interval = DispatchTimeInterval.milliseconds(Int(interval / .milliseconds(1)))
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(50))
    timer.setEventHandler(handler: poll)
    timer.resume()
    return timer
  }

  func remove(_ subscriber: ChangeSubscriber) {
    state.withLock { state in
      state.subscribers[ObjectIdentifier(subscriber)] = nil
      if state.subscribers.isEmpty { stop(&state) }
    }
  }

  /// Ends every subscription.
  func finish(_ error: StoreError? = nil) {
    state.withLock { state in
      for subscriber in state.subscribers.values { subscriber.finish(error) }
      state.subscribers = [:]
      stop(&state)
    }
  }

  /// Ends polling and drops the reported state.
  private func stop(_ state: inout State) {
    subscribed.store(false, ordering: .releasing)
    state.timer?.cancel()
    let committing = state.committing
    state = State()
    state.committing = committing
  }

  // MARK: Local commits

  /// Prepares for a commit, so polls don't mistake it for another process's commit.
  func willCommit(_ generation: UInt64) {
    state.withLock { $0.committing = generation }
  }

  func commitFailed() {
    state.withLock { $0.committing = nil }
  }

  /// Reports a commit and the preceding commits of other processes. If they're unknown, the next poll reports it.
  func didCommit(_ commit: LocalCommit?) {
    state.withLock { state in
      state.committing = nil
      guard let commit, let reported = state.reported?.generation else { return }
      if reported == commit.start {
        state.report([commit.changes], to: commit.state, collections: commit.collections, names: commit.names)
      } else if let (since, others) = commit.others, reported == since {
        state.report(
          others.changes + [commit.changes], to: commit.state,
          collections: others.collections.map { $0.union(commit.collections) }, names: commit.names)
      }
    }
  }

  // MARK: Polls

  /// Whether a poll may run now, because polls that read all rows take at most a quarter of the time.
  var shouldPoll: Bool { state.withLock { ContinuousClock.now >= $0.nextPoll } }

  /// The reported state, or `nil` without subscribers.
  var reported: StoreState? { state.withLock { $0.reported } }

  /// Returns the state that a poll compares with.
  ///
  /// - Parameter generation: The generation in the poll's read transaction.
  /// - Returns: `nil` if all commits up to that generation are reported, or a local commit is about to report them.
  func reported(before generation: UInt64) -> StoreState? {
    state.withLock { state in
      guard let reported = state.reported, reported.generation < generation,
        state.committing.map({ $0 > generation }) ?? true
      else { return nil }
      return reported
    }
  }

  /// Reports the result of a poll, unless another report preceded it.
  ///
  /// - Parameters:
  ///   - reported: The state that the changes follow.
  ///   - found: The state that the poll found.
  func didPoll(
    _ changes: ChangesSince, since reported: StoreState, to found: StoreState,
    names: [CollectionID: FollowedCollection]?,
    took: Duration
  ) {
    state.withLock { state in
      state.nextPoll = ContinuousClock.now.advanced(by: took * 3)
      guard state.reported?.generation == reported.generation else { return }
      state.report(changes.changes, to: found, collections: changes.collections, names: names)
    }
  }
}
