internal import CofferRecords
internal import Dispatch

extension ChangeFeed {
  /// The store as of one state, for the first subscriber.
  struct Beginning {
    let state: StoreState
    let names: [CollectionID: FollowedCollection]
  }

  /// A commit of this process, prepared before it.
  struct LocalCommit {
    /// The generation that it follows.
    let start: UInt64
    /// The state that it writes.
    let state: StoreState
    let changes: RingChanges
    /// Commits of other processes that were not reported yet; nil if there are none, or if they are not known.
    let others: (since: UInt64, changes: ChangesSince)?
    /// The collections that were made, renamed, changed or dropped by it.
    let collections: Set<UInt32>
    /// The names of all collections; nil if no collection changed.
    let names: [CollectionID: FollowedCollection]?
  }

  struct State {
    var subscribers: [ObjectIdentifier: ChangeSubscriber] = [:]
    /// The reported state: every commit up to it has been reported, and none after it. Nil without subscribers.
    private(set) var reported: StoreState?
    private(set) var names: [CollectionID: FollowedCollection] = [:]
    /// The generation of a local commit in progress. A poll must not report it, even if the file holds it already.
    var committing: UInt64?
    // Set and cancelled under the lock, never used otherwise.
    nonisolated(unsafe) var timer: (any DispatchSourceTimer)?
    var nextPoll = ContinuousClock.now
  }
}

extension ChangeFeed.State {
  mutating func begin(_ beginning: ChangeFeed.Beginning) {
    reported = beginning.state
    names = beginning.names
  }

  /// Reports changes that follow the reported state.
  ///
  /// - Parameters:
  ///   - collections: those that may have changed; nil for all.
  ///   - names: as of the new state; nil if no collection changed.
  mutating func report(
    _ changes: [RingChanges], to state: StoreState, collections: Set<UInt32>?,
    names: [CollectionID: FollowedCollection]?
  ) {
    reported = state
    var change = StoreChange(generation: state.generation)
    for part in changes { change.merge(StoreChange(part, at: state.generation)) }
    if let names { change.changedCollections = take(names, among: collections) }
    guard !change.isEmpty else { return }
    for subscriber in subscribers.values { subscriber.deliver(change, names: self.names) }
  }

  /// - Returns: the collections that were made, renamed or dropped.
  private mutating func take(_ new: [CollectionID: FollowedCollection], among collections: Set<UInt32>?) -> Set<
    CollectionID
  > {
    let candidates = collections.map { Set($0.map { CollectionID($0) }) } ?? Set(new.keys).union(names.keys)
    let changed = candidates.filter { names[$0] != new[$0] }
    for id in changed { names[id] = new[id] }
    return changed
  }
}
