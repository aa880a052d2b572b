internal import CofferRecords
internal import Synchronization

/// A subscription that ends when its last owner releases it.
package final class ChangeSubscription: Sendable {
  package let subscriber: ChangeSubscriber
  private let feed: ChangeFeed

  init(_ subscriber: ChangeSubscriber, of feed: ChangeFeed) {
    self.subscriber = subscriber
    self.feed = feed
  }

  deinit {
    feed.remove(subscriber)
  }
}

/// What a subscriber does with changes.
package enum ChangeUse: Sendable {
  /// It reports their documents.
  case report
  /// It repeats reads. Documents inserted and deleted since the subscriber's last change still count, because the reads
  /// may have been repeated in between. Commits without changed documents also count.
  case reread
}

/// A subscriber with at most one pending change.
package final class ChangeSubscriber: Sendable {
  private struct State {
    /// The collection with the subscribed name, if it exists.
    var collection: CollectionID?
    var uid: UniqueID?
    var pending: StoreChange?
    /// Whether `pending` must be returned even if it isn't wanted.
    var isWoken = false
    var waiting: CheckedContinuation<Result<StoreChange?, StoreError>, Never>?
    /// Whether the waiting task wants a change.
    var isWanted: @Sendable (StoreChange) -> Bool = { _ in true }
    var end: Result<StoreChange?, StoreError>?
  }

  /// The collection's name, or `nil` for all collections.
  private let name: String?
  private let use: ChangeUse
  /// The generation that the first change follows.
  package let start: UInt64
  private let state: Mutex<State>

  init(name: String?, for use: ChangeUse, names: [CollectionID: FollowedCollection], after start: UInt64) {
    self.name = name
    self.use = use
    self.start = start
    let collection = name.flatMap { names.collection(named: $0) }
    state = Mutex(State(collection: collection, uid: collection.flatMap { names[$0]?.uid }))
  }

  /// Delivers a change, with the collections after it, or merges it with the pending change.
  func deliver(_ change: StoreChange, names: [CollectionID: FollowedCollection]) {
    state.withLock { state in
      guard state.end == nil else { return }
      var change = change
      if let name {
        let before = state.collection
        // The subscription follows its collection through a rename.
        if before == nil || before.flatMap({ names[$0]?.uid }) != state.uid {
          state.collection = names.collection(named: name)
          state.uid = state.collection.flatMap { names[$0]?.uid }
        }
        change = change.filtered(Set([before, state.collection].compactMap { $0 }))
      }
      if use == .report { change.forgetCancelled() }
      guard !change.isEmpty || use == .reread else { return }
      if let waiting = state.waiting {
        guard state.isWanted(change) else { return }
        state.waiting = nil
        waiting.resume(returning: .success(change))
      } else if state.pending == nil {
        state.pending = change
      } else {
        state.pending!.merge(change)
        guard use == .report else { return }
        state.pending!.forgetCancelled()
        if state.pending!.isEmpty { state.pending = nil }
      }
    }
  }

  /// Makes `next` return an empty change, or the pending change.
  package func wake() {
    state.withLock { state in
      guard state.end == nil else { return }
      let nothing = StoreChange(generation: 0)
      guard let waiting = state.waiting else {
        state.isWoken = true
        if state.pending == nil { state.pending = nothing }
        return
      }
      state.waiting = nil
      waiting.resume(returning: .success(nothing))
    }
  }

  func finish(_ error: StoreError? = nil) {
    let end: Result<StoreChange?, StoreError> = error.map { .failure($0) } ?? .success(nil)
    state.withLock { state in
      guard state.end == nil else { return }
      state.end = end
      state.waiting?.resume(returning: end)
      state.waiting = nil
    }
  }

  /// Throws the error with which the subscription began, if the state that its changes follow couldn't be read.
  package func requireBeginning() throws(StoreError) {
    let end = state.withLock { $0.end }
    if case .failure(let error)? = end { throw error }
  }

  /// Waits for the next change, or returns `nil` at the end.
  ///
  /// - Parameter isWanted: Returns `false` for changes to drop.
  package func next(
    where isWanted: @escaping @Sendable (StoreChange) -> Bool = { _ in true }
  ) async throws(StoreError) -> StoreChange? {
    let result: Result<StoreChange?, StoreError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock { state in
          let (pending, isWoken) = (state.pending, state.isWoken)
          (state.pending, state.isWoken) = (nil, false)
          if let pending, isWoken || isWanted(pending) {
            continuation.resume(returning: .success(pending))
          } else if let end = state.end {
            // Throw an error only once.
            state.end = .success(nil)
            continuation.resume(returning: end)
          } else if Task.isCancelled {
            continuation.resume(returning: .success(nil))
          } else {
            // Only one task may use an iterator, so end the sequence for a task that's already waiting.
            state.waiting?.resume(returning: .success(nil))
            (state.waiting, state.isWanted) = (continuation, isWanted)
          }
        }
      }
    } onCancel: {
      state.withLock { state in
        state.waiting?.resume(returning: .success(nil))
        state.waiting = nil
      }
    }
    return try result.get()
  }
}

extension [CollectionID: FollowedCollection] {
  fileprivate func collection(named name: String) -> CollectionID? {
    first { $0.value.has(name: name) }?.key
  }
}
