internal import CofferRecords
internal import Dispatch
internal import Synchronization

/// Reports commits to subscribers: those of this process at once, those of other processes when a poll finds them.
///
/// A local commit reports itself with the list of its changes. To find other processes' commits, a poll compares the
/// rows with a baseline: the last reported position of every document, 24 bytes each, kept only while there are
/// subscribers.
final class ChangeFeed: Sendable {
  /// Time between two polls; each costs one short read transaction while nothing was committed.
  static let interval: DispatchTimeInterval = .milliseconds(250)

  private let state = Mutex(State())
  private let subscribed = Atomic<Bool>(false)

  var hasSubscribers: Bool { subscribed.load(ordering: .acquiring) }

  // MARK: Subscribers

  /// - Parameters:
  ///   - baseline: reads the file; called if there is no subscriber yet.
  ///   - poll: called every ``interval`` while there are subscribers.
  func subscribe(
    to name: String?, _ baseline: () throws(StoreError) -> Baseline, poll: @escaping @Sendable () -> Void
  ) -> ChangeSubscription {
    while true {
      // Transactions that begin after this log their changes, so the first poll finds only commits of other processes.
      subscribed.store(true, ordering: .releasing)
      let isFirst = state.withLock { $0.subscribers.isEmpty }
      var initial: Result<Baseline, StoreError>?
      // Outside of the lock, which a commit takes while it keeps readers out of the file.
      if isFirst { initial = Result { () throws(StoreError) in try baseline() } }
      if let subscriber = add(name, initial, poll) { return ChangeSubscription(subscriber, of: self) }
    }
  }

  /// - Parameter baseline: nil if the caller saw other subscribers.
  /// - Returns: nil if the last of those subscribers has ended meanwhile, and the feed dropped the baseline with it.
  func add(
    _ name: String?, _ baseline: Result<Baseline, StoreError>?, _ poll: @escaping @Sendable () -> Void
  ) -> ChangeSubscriber? {
    state.withLock { state in add(name, baseline, poll, to: &state) }
  }

  private func add(
    _ name: String?, _ baseline: Result<Baseline, StoreError>?, _ poll: @escaping @Sendable () -> Void,
    to state: inout State
  ) -> ChangeSubscriber? {
    if state.subscribers.isEmpty {
      guard let baseline else { return nil }
      switch baseline {
      case .success(let baseline):
        state.begin(baseline)
      case .failure(let error):
        stop(&state)
        let subscriber = ChangeSubscriber(name: name, names: [:])
        subscriber.finish(error)
        return subscriber
      }
    }
    let subscriber = ChangeSubscriber(name: name, names: state.names)
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

  /// Ends polling and drops the baseline.
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

  /// - Parameters:
  ///   - changes: by document id; nil if they were not logged, and the next poll must find them.
  ///   - names: the collections, if they changed.
  func didCommit(_ generation: UInt64, _ changes: [Int64: DocumentChange]?, names: [CollectionID: String]?) {
    state.withLock { state in
      state.committing = nil
      guard !state.subscribers.isEmpty || hasSubscribers, let changes else { return }
      // If another process's commit before this one is unreported, its changes to these documents are reported here.
      let isAhead = generation > state.reportedGeneration + 1
      var change = isAhead ? state.change(by: changes, at: generation) : StoreChange(changes, at: generation)
      if let names { change.changedCollections = state.take(names, at: generation) }
      state.append(changes, of: generation)
      change.bound()
      state.deliver(change)
    }
  }

  // MARK: Polls

  /// Whether a poll may run now: scans take at most a quarter of the time.
  var shouldPoll: Bool { state.withLock { ContinuousClock.now >= $0.nextPoll } }

  /// The state that a poll compares the rows with.
  ///
  /// - Parameter generation: of the poll's read transaction.
  /// - Returns: nil if every commit up to that generation has been reported, or a local commit is about to report it.
  func reported(before generation: UInt64) -> (baseline: Baseline, localCommits: [LocalCommit])? {
    state.withLock { state in
      guard generation > state.reportedGeneration, state.committing.map({ $0 > generation }) ?? true,
        !state.subscribers.isEmpty
      else { return nil }
      return (state.baseline, state.localCommits.filter { $0.generation <= generation })
    }
  }

  /// Reports the result of a poll and makes its rows the baseline.
  ///
  /// - Parameter reportedGeneration: of the baseline that the poll compared the rows with.
  func didPoll(
    _ change: StoreChange, since reportedGeneration: UInt64, _ rows: [Baseline.Row], names: [CollectionID: String],
    took: Duration
  ) {
    state.withLock { state in
      state.nextPoll = ContinuousClock.now.advanced(by: took * 3)
      // Another poll may have finished first.
      guard !state.subscribers.isEmpty, state.reportedGeneration == reportedGeneration else { return }
      var change = change
      state.replaceRows(with: rows, of: change.generation)
      // Later local commits have reported the current state of these documents.
      change.remove(state.lastReported.keys)
      change.changedCollections = state.take(names, at: change.generation)
      change.bound()
      state.deliver(change)
    }
  }
}
