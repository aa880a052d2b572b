internal import CofferRecords
internal import Dispatch
internal import Synchronization

/// Reports commits to subscribers: those of this process at once, those of other processes when a poll finds them.
///
/// A local commit reports itself with the log of its changes. The sealed state of another process's commit names that
/// commit's changes; a poll looks for it, and so does the next local commit.
final class ChangeFeed: Sendable {
  /// Time between two polls; each costs one short read transaction while nothing was committed.
  static let interval: DispatchTimeInterval = .milliseconds(250)

  private let state = Mutex(State())
  private let subscribed = Atomic<Bool>(false)

  var hasSubscribers: Bool { subscribed.load(ordering: .acquiring) }

  // MARK: Subscribers

  /// - Parameters:
  ///   - beginning: reads the file; called if there is no subscriber yet.
  ///   - poll: called every ``interval`` while there are subscribers.
  func subscribe(
    to name: String?, _ beginning: () throws(StoreError) -> Beginning, poll: @escaping @Sendable () -> Void
  ) -> ChangeSubscription {
    while true {
      // Transactions that begin after this log their changes, so the first poll finds only commits of other processes.
      subscribed.store(true, ordering: .releasing)
      let isFirst = state.withLock { $0.subscribers.isEmpty }
      var initial: Result<Beginning, StoreError>?
      // Outside of the lock, which a commit takes while it keeps readers out of the file.
      if isFirst { initial = Result { () throws(StoreError) in try beginning() } }
      if let subscriber = add(name, initial, poll) { return ChangeSubscription(subscriber, of: self) }
    }
  }

  /// - Parameter beginning: nil if the caller saw other subscribers.
  /// - Returns: nil if the last of those subscribers has ended meanwhile, and the feed dropped its state with it.
  func add(
    _ name: String?, _ beginning: Result<Beginning, StoreError>?, _ poll: @escaping @Sendable () -> Void
  ) -> ChangeSubscriber? {
    state.withLock { state in add(name, beginning, poll, to: &state) }
  }

  private func add(
    _ name: String?, _ beginning: Result<Beginning, StoreError>?, _ poll: @escaping @Sendable () -> Void,
    to state: inout State
  ) -> ChangeSubscriber? {
    if state.subscribers.isEmpty {
      guard let beginning else { return nil }
      switch beginning {
      case .success(let beginning):
        state.begin(beginning)
      case .failure(let error):
        stop(&state)
        let subscriber = ChangeSubscriber(name: name, names: [:], after: 0)
        subscriber.finish(error)
        return subscriber
      }
    }
    let subscriber = ChangeSubscriber(
      name: name, names: state.names, after: state.reported?.generation ?? 0)
    state.subscribers[ObjectIdentifier(subscriber)] = subscriber
    // The end of the last subscriber may have cleared the flag since `subscribe` set it.
    subscribed.store(true, ordering: .releasing)
    if state.timer == nil { state.timer = Self.timer(poll) }
    return subscriber
  }

  private static func timer(_ poll: @escaping @Sendable () -> Void) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "coffer.changes"))
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

  // MARK: Commits of this process

  /// Called before a commit: until the commit ends, no poll takes it for another process's.
  func willCommit(_ generation: UInt64) {
    state.withLock { $0.committing = generation }
  }

  func commitFailed() {
    state.withLock { $0.committing = nil }
  }

  /// Reports a commit, and with it the commits of other processes right before it. If those are not known, the next
  /// poll reports it.
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

  /// Whether a poll may run now: polls that read all rows take at most a quarter of the time.
  var shouldPoll: Bool { state.withLock { ContinuousClock.now >= $0.nextPoll } }

  /// The reported state; nil without subscribers.
  var reported: StoreState? { state.withLock { $0.reported } }

  /// The state since which a poll must find the changes.
  ///
  /// - Parameter generation: of the poll's read transaction.
  /// - Returns: nil if every commit up to that generation has been reported, or a local commit is about to report it.
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
  ///   - reported: the state since which the changes are.
  ///   - found: the state that the poll found.
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
