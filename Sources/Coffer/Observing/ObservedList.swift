internal import CofferEngine
public import CofferRecords
internal import Synchronization

/// A sequence of a collection's list and its changes, from ``DocumentStore/observe(_:first:)``.
///
/// Each iterator starts with the list as insertions into an empty list, then returns differences. It ends when the
/// store is closed or released, or the task is canceled. It throws `closed` if the store was already closed.
public struct ObservedList: AsyncSequence, Sendable {
  public typealias Element = ListChange
  public typealias Failure = StoreError

  private let collection: DocumentCollection
  private let window: ListWindow
  private let source: ListSource

  init(_ collection: DocumentCollection, limit: Int, _ source: ListSource) {
    self.collection = collection
    window = ListWindow(limit: limit)
    self.source = source
  }

  /// The maximum number of documents in the list.
  public var limit: Int {
    get { window.limit }
    nonmutating set { window.limit = newValue }
  }

  /// An iterator for use in one task.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let iteration: ListIteration

    public mutating func next() async throws(StoreError) -> ListChange? {
      try await iteration.next()
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(StoreError) -> ListChange? {
      try await iteration.next()
    }
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(iteration: ListIteration(ListReader(collection.name), window, source))
  }
}

/// A list's store, which observers don't keep open.
struct ListSource: Sendable {
  let subscribe: @Sendable () -> ChangeSubscription
  /// A closure that runs one read transaction, or returns `nil` after the store is released.
  let read: @Sendable ((StoreTransaction) throws(StoreError) -> ListChange?) throws -> ListChange??
}

/// An observed list's limit, and the iterations that wait for it to change.
private final class ListWindow: Sendable {
  private struct Waiting {
    weak var subscriber: ChangeSubscriber?
  }

  private struct State {
    var limit: Int
    var waiting: [Waiting] = []
  }

  private let state: Mutex<State>

  init(limit: Int) {
    state = Mutex(State(limit: limit))
  }

  var limit: Int {
    get { state.withLock { $0.limit } }
    set {
      let waiting = state.withLock { state in
        state.limit = max(0, newValue)
        return state.waiting.compactMap(\.subscriber)
      }
      for subscriber in waiting { subscriber.wake() }
    }
  }

  func add(_ subscriber: ChangeSubscriber) {
    state.withLock { state in
      state.waiting.removeAll { $0.subscriber == nil }
      state.waiting.append(Waiting(subscriber: subscriber))
    }
  }
}

/// An iteration over an observed list.
private final class ListIteration: @unchecked Sendable {
  // Safe because one task at a time uses an iterator, and waits while another thread reads with these properties.
  private var reader: ListReader
  private var subscription: ChangeSubscription?
  private var isOver = false

  private let window: ListWindow
  private let source: ListSource

  init(_ reader: ListReader, _ window: ListWindow, _ source: ListSource) {
    self.reader = reader
    self.window = window
    self.source = source
  }

  func next() async throws(StoreError) -> ListChange? {
    do {
      while !isOver {
        var heard: StoreChange?
        /// The generation that `heard` follows.
        var start: UInt64?
        if let subscriber = subscription?.subscriber {
          start = lastHeard
          guard let change = try await subscriber.next() else { break }
          lastHeard = max(lastHeard, change.generation)
          heard = change
        }
        let isExact = heard != nil && start == reader.generation
        let found = try await offCooperativePool(.observations) { [heard] in try self.read(isExact ? heard : nil) }
        guard let found else { break }
        if let change = found { return change }
      }
    } catch let error as StoreError where error.code != .closed || reader.generation == nil {
      isOver = true
      throw error
    } catch {
      // The store was closed, or the task was canceled.
    }
    isOver = true
    subscription = nil
    return nil
  }

  /// The generation of the latest reported change.
  private var lastHeard: UInt64 = 0

  private func read(_ heard: StoreChange?) throws -> ListChange?? {
    if subscription == nil {
      // Subscribe before reading the list to avoid missing a commit.
      let new = source.subscribe()
      subscription = new
      lastHeard = new.subscriber.start
      window.add(new.subscriber)
    }
    let limit = window.limit
    return try source.read { transaction throws(StoreError) in
      try reader.next(transaction, heard: heard, limit: limit)
    }
  }
}
