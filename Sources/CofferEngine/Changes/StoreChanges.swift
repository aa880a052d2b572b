internal import CofferRecords
internal import Synchronization

/// A sequence of the commits after a call to ``DocumentStore/changes(in:)``.
///
/// Each iterator receives every change, beginning with the call to `changes` for the first iterator and with their
/// creation for later iterators. A slow task receives its pending changes merged into a single change, which contains
/// at most 65,536 documents. The sequence ends when the store is closed or released, or the task is canceled. It throws
/// `closed` if the store was closed before it began.
public struct StoreChanges: AsyncSequence, Sendable {
  public typealias Element = StoreChange
  public typealias Failure = StoreError

  private let first: FirstSubscription
  private let subscribe: @Sendable () -> ChangeSubscription

  /// Creates a sequence, which calls `subscribe` immediately and for each iterator after the first.
  package init(_ subscribe: @escaping @Sendable () -> ChangeSubscription) {
    first = FirstSubscription(subscribe())
    self.subscribe = subscribe
  }

  /// An iterator for a single task.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: ChangeSubscription

    public mutating func next() async throws(StoreError) -> StoreChange? {
      try await subscription.subscriber.next()
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(StoreError) -> StoreChange? {
      try await subscription.subscriber.next()
    }
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(subscription: first.take() ?? subscribe())
  }
}

/// The sequence's first subscription, until its first iterator takes it.
private final class FirstSubscription: Sendable {
  private let subscription: Mutex<ChangeSubscription?>

  init(_ subscription: ChangeSubscription) {
    self.subscription = Mutex(subscription)
  }

  func take() -> ChangeSubscription? {
    subscription.withLock { $0.take() }
  }
}

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

/// A subscriber with at most one pending change.
package final class ChangeSubscriber: Sendable {
  private struct State {
    /// The collection with the subscribed name, if it exists.
    var collection: CollectionID?
    var uid: UniqueID?
    var pending: StoreChange?
    /// Whether `pending` must be returned even if it's empty.
    var isWoken = false
    var waiting: CheckedContinuation<Result<StoreChange?, StoreError>, Never>?
    var end: Result<StoreChange?, StoreError>?
  }

  /// The collection's name, or `nil` for all collections.
  private let name: String?
  /// The generation that the first change follows.
  package let start: UInt64
  private let state: Mutex<State>

  init(name: String?, names: [CollectionID: FollowedCollection], after start: UInt64) {
    self.name = name
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
      guard !change.isEmpty else { return }
      if let waiting = state.waiting {
        state.waiting = nil
        waiting.resume(returning: .success(change))
      } else if state.pending == nil {
        state.pending = change
      } else {
        state.pending!.merge(change)
        if state.pending!.isEmpty, !state.isWoken { state.pending = nil }
      }
    }
  }

  /// Makes `next` return an empty change, unless another change is pending.
  package func wake() {
    state.withLock { state in
      guard state.end == nil, state.pending == nil else { return }
      let nothing = StoreChange(generation: 0)
      guard let waiting = state.waiting else {
        state.isWoken = true
        return state.pending = nothing
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

  package func next() async throws(StoreError) -> StoreChange? {
    let result: Result<StoreChange?, StoreError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock { state in
          if let pending = state.pending {
            state.pending = nil
            state.isWoken = false
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
            state.waiting = continuation
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
