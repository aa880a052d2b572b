internal import CofferEngine
public import CofferRecords

/// An asynchronous sequence of the current state and each later state, after commits by this process or other
/// processes.
///
/// ``DocumentStore/observe(_:first:)`` and ``DocumentStore/observe(_:in:first:skippingOthers:where:)`` return the
/// differences of a list, ``DocumentStore/observe(_:)`` the results of any reads, and ``DocumentStore/changes(in:)`` the
/// IDs of each commit.
///
/// Each iterator starts with the current state, and belongs to one task. A slow task skips states. Its next element is
/// the newest state, and differences refer to its last received element.
///
/// An observation doesn't keep the store open. It ends when the store is closed or released, or when the task is
/// canceled. It throws `closed` if the store was closed before the first element, and errors of reading, such as
/// `keyChanged`, `damaged` and `notDecodable`. An error ends the iteration. If another process locks the store, the
/// first element throws `locked`, and later elements wait for the lock.
///
/// All observations of a process share 16 threads, which they use only while they read.
public struct StoreObservation<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = StoreError

  let window: ListWindow?
  let iterate: @Sendable () -> any ObservationIteration<Element>

  init(window: ListWindow? = nil, _ iterate: @escaping @Sendable () -> any ObservationIteration<Element>) {
    self.window = window
    self.iterate = iterate
  }

  /// An iterator for one task.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let iteration: any ObservationIteration<Element>

    public mutating func next() async throws(StoreError) -> Element? {
      try await iteration.next()
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(StoreError) -> Element? {
      try await iteration.next()
    }
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(iteration: iterate())
  }
}

extension StoreObservation {
  /// Changes the maximum number of rows in a list, for all its iterators.
  ///
  /// ```swift
  /// if change.hasMore { list.setLimit(change.count + 100) }
  /// ```
  ///
  /// The next element inserts or deletes the rows in between, and reads only the inserted rows. The differences between
  /// the results of a closure have no limit, so this call doesn't change them.
  public func setLimit<Row>(_ limit: Int) where Element == ListChange<Row> {
    window?.limit = limit
  }
}

/// An iteration over an observation.
protocol ObservationIteration<Element>: AnyObject, Sendable {
  associatedtype Element: Sendable

  /// The generation of the last element.
  var generation: UInt64 { get }

  func next() async throws(StoreError) -> Element?
}
