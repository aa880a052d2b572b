internal import Coffer
internal import Synchronization

/// Counts the commits of a store, by this process and by others, until it is dropped.
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
      // An error ends the watch; the next read of the store gives the same error.
      defer { counter.hasEnded.store(true, ordering: .relaxed) }
      for try await _ in changes { counter.commits.add(1, ordering: .relaxed) }
    }
  }

  deinit {
    task.cancel()
  }

  var commits: Int { counter.commits.load(ordering: .relaxed) }

  /// Whether an error ended the watch: another process changed the key, or held the store for long.
  var hasEnded: Bool { counter.hasEnded.load(ordering: .relaxed) }
}
