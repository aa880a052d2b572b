internal import CofferRecords
internal import Dispatch
internal import Synchronization

/// A check of the tables on another thread, in a transaction of its own that reads the same state.
///
/// SQLite's integrity check uses one thread. Beside the walk over the rows, it costs almost no time of its own.
final class ConcurrentTableCheck: Sendable {
  /// The number of documents for which opening another connection pays off.
  static let minimumCount = 10_000

  private let cancellation = Cancellation()
  private let found = Mutex<TableCheck?>(nil)
  private let end = DispatchGroup()

  /// Starts the check, or returns `nil` if the store is small.
  init?(of engine: StoreEngine, beside transaction: StoreTransaction) {
    guard transaction.state.count >= Self.minimumCount else { return nil }
    let state = transaction.state
    end.enter()
    onSeparateThread(.userInitiated) { [self] in
      defer { end.leave() }
      // The caller checks the tables itself if all readers are busy, another process has written, or anything fails.
      let tables = try? engine.reading(cancellation, wait: .zero) { other throws(StoreError) in
        other.start == state ? try TableCheck(other) : nil
      }
      found.withLock { $0 = tables ?? nil }
    }
  }

  /// Waits for the end of the check. Returns `nil` if the caller has to check the tables in its own transaction.
  func result() -> TableCheck? {
    end.wait()
    return found.withLock { $0 }
  }

  /// Cancels the check unless it has ended, and waits for its end.
  func stop() {
    cancellation.cancel()
    end.wait()
  }
}
