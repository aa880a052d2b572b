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

  /// A commit of this process that the base does not hold yet.
  struct Own {
    let generation: UInt64
    let touched: [Int64: ChangeLog.Touched]
  }

  fileprivate struct State {
    var subscribers: [ObjectIdentifier: ChangeSubscriber] = [:]
    /// By rising id.
    var base: [Entry] = []
    var names: [CollectionID: String] = [:]
    /// Everything up to here was told.
    var told: UInt64 = 0
    /// By rising generation.
    var own: [Own] = []
    var ownCount = 0
    /// The generation of a commit under way: it may be in the file already, and is told by itself.
    var committing: UInt64?
    // Set and cancelled under the lock, never used otherwise.
    nonisolated(unsafe) var timer: (any DispatchSourceTimer)?
    var nextLook = ContinuousClock.now
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
    // From here on transactions that begin keep a list, so that none is missed between the baseline and the first look.
    heard.store(true, ordering: .releasing)
    let isFirst = state.withLock { $0.subscribers.isEmpty }
    var found: Baseline?
    var failure: StoreError?
    if isFirst {
      do throws(StoreError) { found = try baseline() } catch { failure = error }
    }
    return state.withLock { state in
      if let found, state.subscribers.isEmpty {
        state.base = found.entries
        state.names = found.names
        state.told = found.generation
        state.own.removeAll { $0.generation <= found.generation }
        state.advance()
      }
      let subscriber = ChangeSubscriber(name: name, names: state.names)
      if let failure {
        subscriber.finish(failure)
        if state.subscribers.isEmpty { heard.store(false, ordering: .releasing) }
      } else {
        state.subscribers[ObjectIdentifier(subscriber)] = subscriber
        if state.timer == nil { state.timer = Self.timer(look) }
      }
      return ChangeSubscription(subscriber, of: self)
    }
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
      state.own.append(Own(generation: generation, touched: touched))
      state.ownCount += touched.count
      state.advance()
      var change = StoreChange(generation: generation)
      for (id, what) in touched { change.add(what, id: id) }
      if let names { change.changedCollections = state.take(names) }
      change.bound()
      state.deliver(change)
      if state.ownCount > max(4096, state.base.count / 8) { state.fold() }
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
  func found(_ change: StoreChange, _ entries: [Entry], names: [CollectionID: String], took: Duration) {
    state.withLock { state in
      state.nextLook = ContinuousClock.now.advanced(by: took * 3)
      // Another look may have come first.
      guard !state.subscribers.isEmpty, change.generation > state.told else { return }
      state.base = entries
      state.own.removeAll { $0.generation <= change.generation }
      state.ownCount = state.own.reduce(0) { $0 + $1.touched.count }
      state.told = max(state.told, change.generation)
      state.advance()
      var change = change
      // Names that a commit of ours has changed since are newer.
      if state.own.isEmpty { change.changedCollections = state.take(names) }
      change.bound()
      state.deliver(change)
    }
  }
}

extension ChangeFeed.State {
  /// Own commits that follow what was told are told too.
  fileprivate mutating func advance() {
    for own in own where own.generation == told + 1 { told += 1 }
  }

  /// - Returns: the collections that differ.
  fileprivate mutating func take(_ new: [CollectionID: String]) -> Set<CollectionID> {
    let changed = Set(new.keys).union(names.keys).filter { id in
      guard let before = names[id], let after = new[id] else { return true }
      return !before.utf8.elementsEqual(after.utf8)
    }
    names = new
    return changed
  }

  fileprivate func deliver(_ change: StoreChange) {
    guard !change.isEmpty else { return }
    for subscriber in subscribers.values { subscriber.deliver(change, names: names) }
  }

  /// Puts own commits into the base, unless another process's stand before them.
  fileprivate mutating func fold() {
    guard own.last?.generation ?? 0 <= told else { return }
    var latest: [Int64: ChangeLog.Touched] = [:]
    for own in own { latest.merge(own.touched) { $1 } }
    var kept: [ChangeFeed.Entry] = []
    kept.reserveCapacity(base.count + latest.count)
    for entry in base {
      guard let touched = latest.removeValue(forKey: entry.id) else {
        kept.append(entry)
        continue
      }
      if let place = touched.place { kept.append(ChangeFeed.Entry(entry.id, place)) }
    }
    let isSorted = latest.isEmpty
    for (id, touched) in latest {
      if let place = touched.place { kept.append(ChangeFeed.Entry(id, place)) }
    }
    if !isSorted { kept.sort { $0.id < $1.id } }
    base = kept
    own = []
    ownCount = 0
  }
}

extension ChangeFeed.Entry {
  init(_ id: Int64, _ place: ChangeLog.Place) {
    self.init(id: id, position: place.position, collection: place.collection)
  }
}
