internal import CofferRecords
internal import Dispatch
internal import Synchronization

/// Tells subscribers what is committed: by this process at once, by others when a look finds their commits.
///
/// A commit of ours comes with the list of what it did. For others' there is the base: every document's place as it
/// was told last, 24 bytes each and only while somebody listens, which a scan of the rows is compared with.
final class ChangeFeed: Sendable {
  /// Between two looks at the file; each costs one short read transaction while nothing was committed.
  static let interval: DispatchTimeInterval = .milliseconds(250)

  struct Entry {
    var id: Int64
    var position: Int64
    var collection: UInt32
  }

  private let state = Mutex(State())
  private let heard = Atomic<Bool>(false)

  /// Whether anybody listens.
  var isHeard: Bool { heard.load(ordering: .acquiring) }

  // MARK: Subscribers

  /// What stands in the file when the first subscriber comes.
  struct Baseline {
    var entries: [Entry]
    var names: [CollectionID: String]
    var generation: UInt64
  }

  /// - Parameters:
  ///   - baseline: what stands in the file; asked for when nobody listens yet.
  ///   - look: called every ``interval`` while anybody listens.
  func subscribe(
    to name: String?, _ baseline: () throws(StoreError) -> Baseline, look: @escaping @Sendable () -> Void
  ) -> ChangeSubscription {
    while true {
      // From here on transactions that begin keep a list, so that the first look finds what is no commit of ours only.
      heard.store(true, ordering: .releasing)
      let isFirst = state.withLock { $0.subscribers.isEmpty }
      var found: Result<Baseline, StoreError>?
      // Outside of the lock, which a commit takes while it keeps readers out of the file.
      if isFirst { found = Result { () throws(StoreError) in try baseline() } }
      if let subscriber = add(name, found, look) { return ChangeSubscription(subscriber, of: self) }
    }
  }

  /// - Returns: nil where the last subscriber has gone since, and with him what is known of the file.
  func add(
    _ name: String?, _ found: Result<Baseline, StoreError>?, _ look: @escaping @Sendable () -> Void
  ) -> ChangeSubscriber? {
    state.withLock { state in add(name, found, look, to: &state) }
  }

  private func add(
    _ name: String?, _ found: Result<Baseline, StoreError>?, _ look: @escaping @Sendable () -> Void,
    to state: inout State
  ) -> ChangeSubscriber? {
    if state.subscribers.isEmpty {
      guard let found else { return nil }
      switch found {
      case .success(let baseline):
        state.begin(baseline)
      case .failure(let error):
        fallSilent(&state)
        let subscriber = ChangeSubscriber(name: name, names: [:])
        subscriber.finish(error)
        return subscriber
      }
    }
    let subscriber = ChangeSubscriber(name: name, names: state.names)
    state.subscribers[ObjectIdentifier(subscriber)] = subscriber
    // The last one may have taken it back after it was set above.
    heard.store(true, ordering: .releasing)
    if state.timer == nil { state.timer = Self.timer(look) }
    return subscriber
  }

  private static func timer(_ look: @escaping @Sendable () -> Void) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "coffer.changes"))
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(50))
    timer.setEventHandler(handler: look)
    timer.resume()
    return timer
  }

  func remove(_ subscriber: ChangeSubscriber) {
    state.withLock { state in
      state.subscribers[ObjectIdentifier(subscriber)] = nil
      if state.subscribers.isEmpty { fallSilent(&state) }
    }
  }

  /// Ends every subscription.
  func finish(_ error: StoreError? = nil) {
    state.withLock { state in
      for subscriber in state.subscribers.values { subscriber.finish(error) }
      state.subscribers = [:]
      fallSilent(&state)
    }
  }

  private func fallSilent(_ state: inout State) {
    heard.store(false, ordering: .releasing)
    state.timer?.cancel()
    let committing = state.committing
    state = State()
    state.committing = committing
  }

  // MARK: Commits of this process

  /// Before a commit: until it has ended, no look takes it for another process's.
  func willCommit(_ generation: UInt64) {
    state.withLock { $0.committing = generation }
  }

  func commitFailed() {
    state.withLock { $0.committing = nil }
  }

  /// - Parameters:
  ///   - touched: what it did; nil where that is not known, and the next look finds it.
  ///   - names: the collections, where they changed.
  func didCommit(_ generation: UInt64, _ touched: [Int64: ChangeLog.Touched]?, names: [CollectionID: String]?) {
    state.withLock { state in
      state.committing = nil
      guard !state.subscribers.isEmpty || isHeard, let touched else { return }
      // Another process's commit before it was not told yet: what it did to these documents is told along with ours.
      let isAhead = generation > state.told + 1
      var change = isAhead ? state.change(by: touched, at: generation) : StoreChange(touched, at: generation)
      if let names { change.changedCollections = state.take(names, at: generation) }
      state.append(touched, of: generation)
      change.bound()
      state.deliver(change)
    }
  }

  // MARK: Looks at the file

  /// What a look compares the rows with.
  struct Known {
    let base: [Entry]
    let own: [Own]
    let told: UInt64
    let names: [CollectionID: String]
  }

  /// Whether it is time for a look: scans take at most a quarter of the time.
  var isLookDue: Bool { state.withLock { ContinuousClock.now >= $0.nextLook } }

  /// - Parameter generation: of the transaction that looks.
  /// - Returns: nil where everything up to there was told, or is about to be.
  func known(at generation: UInt64) -> Known? {
    state.withLock { state in
      guard generation > state.told, state.committing.map({ $0 > generation }) ?? true, !state.subscribers.isEmpty
      else { return nil }
      return Known(
        base: state.base, own: state.own.filter { $0.generation <= generation }, told: state.told, names: state.names)
    }
  }

  /// What a look has found, told and kept.
  ///
  /// - Parameter told: what it was compared with.
  func found(
    _ change: StoreChange, since told: UInt64, _ entries: [Entry], names: [CollectionID: String], took: Duration
  ) {
    state.withLock { state in
      state.nextLook = ContinuousClock.now.advanced(by: took * 3)
      // Another look may have come first.
      guard !state.subscribers.isEmpty, state.told == told else { return }
      var change = change
      state.replaceBase(with: entries, of: change.generation)
      // Those were told as they are now.
      change.remove(state.latest.keys)
      change.changedCollections = state.take(names, at: change.generation)
      change.bound()
      state.deliver(change)
    }
  }
}
