internal import Coffer
internal import Synchronization

/// Counts the commits of a store by this process and other processes until deinitialization.
final class ChangeWatch: Sendable {
  private final class Counter: Sendable {
    let commits = Atomic<Int>(0)
    let hasEnded = Atomic<Bool>(false)
  }

  private let counter = Counter()
  private let task: Task<Void, any Error>

  init(_ store: DocumentStore) {
    let changes = store.changes()
    task = Task.detached { [counter] in
      // Don't report an error, because the next read of the store throws the same error.
      defer { counter.hasEnded.store(true, ordering: .relaxed) }
      for try await _ in changes { counter.commits.add(1, ordering: .relaxed) }
    }
  }

  deinit {
    task.cancel()
  }

  var commits: Int { counter.commits.load(ordering: .relaxed) }

  /// A Boolean value that indicates whether an error ended the watch.
  ///
  /// The cause is another process that changed the key or held the store for long.
  var hasEnded: Bool { counter.hasEnded.load(ordering: .relaxed) }
}
