internal import CofferEngine
internal import CofferRecords
internal import Synchronization

/// An open store's memory for decrypted index pages. The caches are divided equally among the open inner databases.
/// Pages that readers changed are shared with the file's other open stores, and count for all of them.
final class IndexMemory: SessionCompanion {
  /// An index with the documents that a reader added in memory.
  struct Update {
    /// The root row in the file that the pages continue from.
    let sealedRoot: [UInt8]
    let pages: PageOverlay
    /// The state of the documents in the pages.
    let contents: IndexRoot.Contents
  }

  /// The memory for pages that readers add to outdated indexes.
  let budget: PageBudget
  private let cacheBytes: Int
  private let users = Atomic<Int>(0)
  private let shared: SharedUpdates
  private let isClosed = Atomic<Bool>(false)

  init(_ options: OpenOptions, _ file: ProcessLocks) {
    shared = file.companion(SharedUpdates.self)
    budget = PageBudget(options.indexMemoryBytes, of: shared.usage)
    cacheBytes = options.indexCacheBytes
  }

  // MARK: Caches

  /// The size of one share in bytes. It changes when inner databases are opened or closed.
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

  /// The updates that all of a file's open stores share.
  ///
  /// A reader continues only from pages of a root that it has opened itself, so all readers have the same keys.
  private final class SharedUpdates: FileCompanion {
    let usage = PageBudget.Usage()
    private let updates = Mutex<(users: Set<ObjectIdentifier>, byPart: [UInt32: Update])>(([], [:]))

    /// Returns the result of a store's work. From then on, the store uses the updates.
    func with<R: Sendable>(_ user: IndexMemory, _ work: (inout [UInt32: Update]) -> R) -> R {
      updates.withLock {
        $0.users.insert(ObjectIdentifier(user))
        return work(&$0.byPart)
      }
    }

    /// Releases the pages, unless other stores use them.
    func leave(_ user: IndexMemory) {
      updates.withLock {
        $0.users.remove(ObjectIdentifier(user))
        if $0.users.isEmpty { $0.byPart = [:] }
      }
    }
  }

  /// The update of an index that readers share, or `nil` if the index in the file lacks only few documents.
  subscript(part: UInt32) -> Update? {
    get { isClosed.load(ordering: .relaxed) ? nil : shared.with(self) { $0[part] } }
    set { if !isClosed.load(ordering: .relaxed) { shared.with(self) { $0[part] = newValue } } }
  }

  func releaseMemory() { shared.leave(self) }

  /// Releases a closed store's pages.
  func close() {
    isClosed.store(true, ordering: .relaxed)
    shared.leave(self)
  }
}
