internal import CofferRecords
internal import Synchronization

/// The number of documents that this process has changed since it last checked the indexes in the file.
package final class IndexDebt: Sendable {
  /// The number of documents from which somebody must look at the indexes. Updating them after each commit would write
  /// the same pages again and again.
  package static let limit = 256
  /// The bytes of the state's ring that count as that many documents, because an index that the ring doesn't reach is
  /// compared with every row.
  private static let ringBytes = ChangeRing.greatestByteCount / 12

  private let documents = Atomic<Int>(0)
  private let hasGrown = Atomic<Bool>(false)
  private let handler = Mutex<(@Sendable () -> Void)?>(nil)

  /// Returns the debt of one commit.
  ///
  /// - Parameter byteCount: The number of bytes that the changes take in the ring.
  static func documents(of changes: RingChanges, ringBytes byteCount: Int) -> Int {
    guard case .entries(let entries) = changes else { return limit }
    let count = entries.reduce(0) { $0 + $1.ranges.reduce(0) { $0 + min(limit, $1.count) } }
    return max(count, byteCount * limit / ringBytes)
  }

  /// Adds the debt of a commit, and calls the handler if somebody must look at the indexes.
  func add(_ count: Int) {
    hasGrown.store(true, ordering: .relaxed)
    guard documents.add(count, ordering: .relaxed).newValue >= Self.limit else { return }
    handler.withLock { $0 }?()
  }

  /// Sets the handler, which is called with each commit while somebody must look at the indexes.
  package func onLimit(_ handler: @escaping @Sendable () -> Void) {
    self.handler.withLock { $0 = handler }
    if documents.load(ordering: .relaxed) >= Self.limit { handler() }
  }

  /// Returns the debt and resets it to 0.
  package func take() -> Int { documents.exchange(0, ordering: .relaxed) }

  /// Takes the debt back, because the indexes couldn't be looked at. The next commit calls the handler.
  package func giveBack(_ count: Int) { documents.add(count, ordering: .relaxed) }

  /// Whether this process has made commits since somebody looked at the indexes.
  package var isOwed: Bool { documents.load(ordering: .relaxed) > 0 }

  /// Whether this process may write the indexes. A process that only searched doesn't, because the file would show that
  /// somebody searched.
  package var mayWrite: Bool { hasGrown.load(ordering: .relaxed) }
}
