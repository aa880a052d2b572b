public import CofferRecords
internal import Synchronization

/// The list of a collection and its changes, from ``DocumentStore/observe(_:first:)``.
///
/// Each iterator begins with the list, as insertions into an empty one, and goes on with differences. Ends when the
/// store is closed or released, or the task is cancelled; throws `closed` if the store was closed before it began.
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

  /// The most documents that the list has.
  public var limit: Int {
    get { window.limit }
    nonmutating set { window.limit = newValue }
  }

  /// The iterator of one task.
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

/// The store of a list, which its observers don't keep open.
struct ListSource: Sendable {
  let subscribe: @Sendable () -> ChangeSubscription
  /// Runs one read transaction; nil once the store is released.
  let read: @Sendable ((StoreTransaction) throws(StoreError) -> ListChange?) throws -> ListChange??
}

/// The limit of an observed list, and the iterations that wait for it to change.
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

/// One iteration of an observed list.
private final class ListIteration: @unchecked Sendable {
  // One task at a time uses an iterator, and waits while another thread reads with these.
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
        let found = try await offCooperativePool { [heard] in try self.read(isExact ? heard : nil) }
        guard let found else { break }
        if let change = found { return change }
      }
    } catch let error as StoreError where error.code != .closed || reader.generation == nil {
      isOver = true
      throw error
    } catch {
      // The store was closed, or the task cancelled.
    }
    isOver = true
    subscription = nil
    return nil
  }

  /// The generation of the latest change that was heard of.
  private var lastHeard: UInt64 = 0

  private func read(_ heard: StoreChange?) throws -> ListChange?? {
    if subscription == nil {
      // Before the list is read, so that no commit is missed in between.
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
