internal import CofferRecords
internal import Dispatch

extension ChangeFeed {
  /// The store's state and collection names for the first subscriber.
  package struct Beginning {
    let state: StoreState
    let names: [CollectionID: FollowedCollection]
  }

  /// A local commit's report, prepared before the commit.
  struct LocalCommit {
    /// The generation that the commit follows.
    let start: UInt64
    /// The state that the commit writes.
    let state: StoreState
    let changes: RingChanges
    /// Unreported commits of other processes, or `nil` if they don't exist or are unknown.
    let others: (since: UInt64, changes: ChangesSince)?
    /// The collections that the commit created, renamed, changed or dropped.
    let collections: Set<UInt32>
    /// All collection names, or `nil` if the collections didn't change.
    let names: [CollectionID: FollowedCollection]?
  }

  struct State {
    var subscribers: [ObjectIdentifier: ChangeSubscriber] = [:]
    /// The state of the last reported commit, or `nil` without subscribers.
    private(set) var reported: StoreState?
    private(set) var names: [CollectionID: FollowedCollection] = [:]
    /// The generation of a local commit in progress. A poll must not report it, even if it's already in the file.
    var committing: UInt64?
    // Only used under the lock, to set and cancel it.
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
  ///   - collections: The collections that may have changed, or `nil` for all.
  ///   - names: The names in the new state, or `nil` if the collections didn't change.
  mutating func report(
    _ changes: [RingChanges], to state: StoreState, collections: Set<UInt32>?,
    names: [CollectionID: FollowedCollection]?
  ) {
    reported = state
    var change = StoreChange(generation: state.generation)
    for part in changes { change.merge(StoreChange(part, at: state.generation)) }
    if let names { change.changedCollections = take(names, among: collections) }
    for subscriber in subscribers.values { subscriber.deliver(change, names: self.names) }
  }

  /// Updates the names, and returns the created, renamed or dropped collections.
  private mutating func take(_ new: [CollectionID: FollowedCollection], among collections: Set<UInt32>?) -> Set<
    CollectionID
  > {
    let candidates = collections.map { Set($0.map { CollectionID($0) }) } ?? Set(new.keys).union(names.keys)
    let changed = candidates.filter { names[$0] != new[$0] }
    for id in changed { names[id] = new[id] }
    return changed
  }
}
