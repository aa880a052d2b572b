internal import CofferEngine
internal import CofferRecords
internal import Synchronization

/// The memory of an open store for decrypted index pages. The caches are divided equally among the open inner
/// databases, and pages that readers changed have one budget and are shared.
final class IndexMemory: SessionCompanion {
  /// An index with the documents that a reader added in memory.
  struct Update {
    /// The root row in the file from which the pages continue.
    let sealedRoot: [UInt8]
    let pages: PageOverlay
    /// The state of the documents in the pages. Later documents may be in them, too.
    let contents: IndexRoot.Contents
  }

  /// The memory for pages that readers add to outdated indexes.
  let budget: PageBudget
  private let cacheBytes: Int
  private let users = Atomic<Int>(0)
  private let shared = Mutex<[UInt32: Update]>([:])
  private let turn = FairSemaphore()
  private let isClosed = Atomic<Bool>(false)

  init(_ options: OpenOptions) {
    budget = PageBudget(options.indexMemoryBytes)
    cacheBytes = options.indexCacheBytes
  }

  // MARK: Caches

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

  // MARK: Pages in memory

  /// Runs work that many readers would otherwise do at the same time.
  func inTurn<R>(
    _ cancellation: Cancellation?, _ work: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try turn.wait(nil, cancellation)
    defer { turn.signal() }
    return try work()
  }

  /// The update of an index that readers share, or `nil` if the index in the file lacks only few documents.
  subscript(part: UInt32) -> Update? {
    get { shared.withLock { $0[part] } }
    set {
      shared.withLock { shared in
        if !isClosed.load(ordering: .relaxed) { shared[part] = newValue }
      }
    }
  }

  func releaseMemory() {
    shared.withLock { $0 = [:] }
  }

  /// Releases the pages of a store that is closed.
  func close() {
    shared.withLock { shared in
      isClosed.store(true, ordering: .relaxed)
      shared = [:]
    }
  }
}
