internal import CofferRecords
internal import Synchronization

/// The commits after a call of ``DocumentStore/changes(in:)``.
///
/// Each iterator gets every change. The first one begins with the call of `changes`, later ones where they are made. A
/// slow task gets all changes since the last one merged into one, which holds at most 65,536 documents under any
/// load. Ends when the store is closed or released, or the task is cancelled; throws `closed` if the store was closed
/// before it began.
public struct StoreChanges: AsyncSequence, Sendable {
  public typealias Element = StoreChange
  public typealias Failure = StoreError

  private let first: FirstSubscription
  private let subscribe: @Sendable () -> ChangeSubscription

  /// - Parameter subscribe: called now, and again for each iterator after the first one.
  init(_ subscribe: @escaping @Sendable () -> ChangeSubscription) {
    first = FirstSubscription(subscribe())
    self.subscribe = subscribe
  }

  /// The iterator of one task.
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

/// The subscription that began with the sequence, until its first iterator takes it.
private final class FirstSubscription: Sendable {
  private let subscription: Mutex<ChangeSubscription?>

  init(_ subscription: ChangeSubscription) {
    self.subscription = Mutex(subscription)
  }

  func take() -> ChangeSubscription? {
    subscription.withLock { $0.take() }
  }
}

/// Ends the subscription when no task can iterate any more.
final class ChangeSubscription: Sendable {
  let subscriber: ChangeSubscriber
  private let feed: ChangeFeed

  init(_ subscriber: ChangeSubscriber, of feed: ChangeFeed) {
    self.subscriber = subscriber
    self.feed = feed
  }

  deinit {
    feed.remove(subscriber)
  }
}

/// Subscriber with at most one pending change.
final class ChangeSubscriber: Sendable {
  private struct State {
    /// The collection of the wanted name, if it exists.
    var collection: CollectionID?
    var uid: UInt64?
    var pending: StoreChange?
    /// `pending` must be given out even if it is of nothing.
    var isWoken = false
    var waiting: CheckedContinuation<Result<StoreChange?, StoreError>, Never>?
    var end: Result<StoreChange?, StoreError>?
  }

  /// nil: all collections.
  private let name: String?
  /// The generation that the first change follows.
  let start: UInt64
  private let state: Mutex<State>

  init(name: String?, names: [CollectionID: FollowedCollection], after start: UInt64) {
    self.name = name
    self.start = start
    let collection = name.flatMap { names.collection(named: $0) }
    state = Mutex(State(collection: collection, uid: collection.flatMap { names[$0]?.uid }))
  }

  /// - Parameter names: the collections after the change.
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

  /// Lets `next` return a change of nothing, if no other waits.
  func wake() {
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

  func next() async throws(StoreError) -> StoreChange? {
    let result: Result<StoreChange?, StoreError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock { state in
          if let pending = state.pending {
            state.pending = nil
            state.isWoken = false
            continuation.resume(returning: .success(pending))
          } else if let end = state.end {
            // An error is thrown once.
            state.end = .success(nil)
            continuation.resume(returning: end)
          } else if Task.isCancelled {
            continuation.resume(returning: .success(nil))
          } else {
            // Only one task may use an iterator: a task that waited before this one gets the end of the sequence.
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
