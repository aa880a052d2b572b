internal import CofferEngine
internal import Synchronization

/// The memory of an open store for decrypted index pages, divided equally among the open inner databases.
final class IndexMemory: SessionAttachment {
  /// The memory for pages that a reader adds to an outdated index.
  let updateBytes: Int
  private let cacheBytes: Int
  private let users = Atomic<Int>(0)

  init(_ options: OpenOptions) {
    updateBytes = options.indexMemoryBytes
    cacheBytes = options.indexCacheBytes
  }

  /// The size in bytes of one share. It changes when inner databases open and close.
  var share: Int { cacheBytes / max(users.load(ordering: .relaxed), 1) }

  /// The memory share for one open inner database.
  final class Share: Sendable {
    private let memory: IndexMemory

    init(_ memory: IndexMemory) {
      self.memory = memory
      memory.users.add(1, ordering: .relaxed)
    }

    deinit {
      memory.users.subtract(1, ordering: .relaxed)
    }

    var byteCount: Int { memory.share }
  }
}
