internal import CofferEngine
internal import CofferRecords
internal import Synchronization

/// The reads that an iteration repeats after commits, and their last result.
protocol ObservedReads<Element>: Sendable {
  associatedtype Element: Sendable

  /// The generation of the last reads, or `nil` before the first reads.
  var generation: UInt64? { get }

  /// Whether the reads may return another result after a change.
  var mayDiffer: @Sendable (_ change: StoreChange) -> Bool { get }

  /// Reads in a transaction, and returns `nil` if the result is unchanged.
  ///
  /// - Parameters:
  ///   - heard: The documents reported since the last reads, or `nil` if unknown.
  ///   - limit: The maximum number of rows in a list.
  mutating func next(_ transaction: StoreTransaction, heard: StoreChange?, limit: Int) throws -> Element?
}

/// A store that observations don't keep open.
struct ObservedStore: Sendable {
  let subscribe: @Sendable () -> ChangeSubscription
  /// Returns the store's engine, or `nil` after the store is released.
  let engine: @Sendable () -> StoreEngine?
}

/// An iteration that reads the current state, and reads again after changes.
final class ReadingIteration<Reads: ObservedReads>: ObservationIteration, @unchecked Sendable {
  // Sendable because one task at a time uses an iterator, and waits while another thread reads with these properties.
  private var reads: Reads
  private var subscription: ChangeSubscription?
  /// The generation of the latest reported change.
  private var lastHeard: UInt64 = 0
  private var isOver = false

  private let store: ObservedStore
  private let window: ListWindow?

  init(_ reads: Reads, _ store: ObservedStore, _ window: ListWindow? = nil) {
    (self.reads, self.store, self.window) = (reads, store, window)
  }

  var generation: UInt64 { reads.generation ?? 0 }

  func next() async throws(StoreError) -> Reads.Element? {
    do {
      while !isOver {
        var heard: StoreChange?
        if let subscriber = subscription?.subscriber {
          let start = lastHeard
          // An unwanted change doesn't affect the result, so the next change still follows the last reads.
          guard let change = try await subscriber.next(where: reads.mayDiffer) else { break }
          lastHeard = max(lastHeard, change.generation)
          if start == reads.generation { heard = change }
        }
        guard let found = try await read(heard) else { break }
        if let element = found { return element }
      }
    } catch let error as StoreError where error.code != .closed || reads.generation == nil {
      end()
      throw error
    } catch {
      // The store was closed, or the task was canceled.
    }
    end()
    return nil
  }

  private func end() {
    isOver = true
    subscription = nil
  }

  /// Reads on a separate thread, or returns `nil` after the store is released.
  private func read(_ heard: StoreChange?) async throws -> Reads.Element?? {
    while true {
      do {
        return try await offCooperativePool(.observations) { try self.readOnThread(heard) }
      } catch let error as StoreError
        where (error.code == .locked || error.code == .suspended) && reads.generation != nil
      {
        // Another process's long transaction or a suspension doesn't end an observation, which shows the previous
        // state.
        try await Task.sleep(for: ChangeFeed.interval)
      }
    }
  }

  private func readOnThread(_ heard: StoreChange?) throws -> Reads.Element?? {
    if subscription == nil {
      // Subscribe before reading to avoid missing a commit.
      let new = store.subscribe()
      // The lock that prevented the subscription may be released before the first read. Changes would then be missed.
      try new.subscriber.requireBeginning()
      subscription = new
      lastHeard = new.subscriber.start
      window?.add(new.subscriber)
    }
    guard let engine = store.engine() else { return nil }
    let limit = window?.limit ?? .max
    return .some(try engine.readScope { try reads.next($0.transaction, heard: heard, limit: limit) })
  }
}

/// An observed list's limit, and the iterations that wait for it to change.
final class ListWindow: Sendable {
  private struct Waiting {
    weak var subscriber: ChangeSubscriber?
  }

  private struct State {
    var limit: Int
    var waiting: [Waiting] = []
  }

  private let state: Mutex<State>

  init(limit: Int) {
    state = Mutex(State(limit: max(0, limit)))
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
