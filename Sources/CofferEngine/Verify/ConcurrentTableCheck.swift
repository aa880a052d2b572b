internal import CofferRecords
internal import Dispatch
internal import Synchronization

/// A check of the tables on another thread, in a separate transaction of the same state.
///
/// SQLite's integrity check uses a single thread, so it runs concurrently with the row walk.
final class ConcurrentTableCheck: Sendable {
  /// The minimum number of documents. Opening a connection for fewer documents takes longer than the check.
  static let minimumCount = 10_000

  private let cancellation = Cancellation()
  private let found = Mutex<TableCheck?>(nil)
  let end = DispatchGroup()

  /// Starts the check, or returns `nil` if the store is small.
  init?(of engine: StoreEngine, beside transaction: StoreTransaction) {
    guard transaction.state.count >= Self.minimumCount else { return nil }
    let state = transaction.state
    end.enter()
    onSeparateThread(.userInitiated) { [self] in
      defer { end.leave() }
      // If all readers are busy, another process has written, or the check fails, the caller checks the tables.
      let tables = try? engine.reading(cancellation, wait: .zero) { other throws(StoreError) in
        other.start == state ? try TableCheck(other) : nil
      }
      found.withLock { $0 = tables ?? nil }
    }
  }

  /// Waits for the check to finish. Returns `nil` if the caller must check the tables in its own transaction.
  func result() -> TableCheck? {
    end.wait()
    return found.withLock { $0 }
  }

  /// Cancels the check and waits until it has finished.
  func stop() {
    cancellation.cancel()
    end.wait()
  }
}
