internal import CofferRecords
internal import CofferSQLite
public import FoundationEssentials

#if canImport(Glibc)
  internal import Glibc
#endif

/// A folder of verified copies of a store that another machine writes, for readers on this one.
///
/// Copies have rising numbers, `0000000001.coffer` and so on; the link `current` names the latest. Readers open `current`,
/// and open it again when ``DocumentStore/isSuperseded`` is true.
///
/// ```swift
/// let folder = ReplicaFolder(at: URL(filePath: "/srv/replica"))
/// let outcome = try folder.adopt(followed, key: .keyFile(keyURL), anchor: anchorLine)
/// ```
public struct ReplicaFolder: Sendable {
  /// The folder.
  public let url: URL

  /// The folder at `url`, which must exist; reads nothing.
  public init(at url: URL) {
    self.url = url
  }

  /// The link to the latest copy: the path that readers open.
  public var current: URL { url.appending(path: Self.linkName) }

  static let linkName = "current"
  static let ending = ".coffer"
  /// Enough for three copies a second for a century.
  static let digits = 10
}

/// Options of `ReplicaFolder.adopt`.
public struct AdoptOptions: Sendable {
  /// Adopts only a store with this pin. After a failover give the pin of the new branch: it lets the new branch follow a
  /// copy of the old one, even one of a later generation.
  public var expectedPin: String?
  /// The demands of the comparison with the anchor.
  public var anchorOptions: AnchorOptions = []
  /// Number of copies kept, the new one included; at least 1.
  public var keptCopies = 5
  /// Opens only the documents that changed since the copy before, not all of each copy: a damaged text of another document
  /// is not found then. The first copy, and one after a change of keys or branch, is opened whole all the same.
  public var opensChangedOnly = false
  /// Lets published test keys open TEST stores; for tests only.
  public var allowsTestKeys = false
  /// The longest time to wait for locks, and to try again while the copy is not sound.
  public var wait: Duration = .seconds(10)

  /// Options that keep five copies and wait ten seconds.
  public init() {}
}

/// The result of `ReplicaFolder.adopt`.
public enum Adoption: Sendable, Hashable {
  /// The followed file has the state of the latest copy; nothing was changed.
  case unchanged(AdoptedCopy)
  /// A new copy is in place, and `current` names it.
  case adopted(AdoptedCopy)
}

/// A verified copy in a ``ReplicaFolder``.
public struct AdoptedCopy: Sendable, Hashable {
  /// The copy's file.
  public let url: URL
  /// The copy's generation.
  public let generation: UInt64
  /// Number of documents.
  public let documents: Int
  /// The copy's anchor.
  public let anchor: String
  /// The comparison with the anchor that was given; nil without one.
  public let check: AnchorCheck?
}

extension ReplicaFolder {
  /// Copies a file that a replication program changes, verifies the copy, and makes it the current one.
  ///
  /// `litestream restore -f` writes pages into its file while a process may read it. So readers never open that file:
  /// this call copies it as of one moment, page by page, into the rollback journal, and requires that
  /// - its set hash, count, structure and SQLite's own integrity are right, and every document opens;
  /// - it is not older than `anchor`, nor than the current copy, and not known to be of another branch;
  /// - its pin is the expected one, if you expect one.
  ///
  /// A copy that fails is tried again until `options.wait` has passed. The new copy and the link are durable before older
  /// copies are deleted. Copies have no permission to be written; the first may be read by its owner alone, each later one
  /// by those who may read the one before.
  ///
  /// Reads the file once and writes it once, and opens every document. One process at a time adopts in a folder.
  ///
  /// - Parameters:
  ///   - followed: the file that the replication program writes.
  ///   - key: opens the store.
  ///   - anchor: a line that the writer's side published, such as the last confirmed one; nil compares with the current
  ///     copy alone.
  ///   - options: the expected pin, demands of the comparison, number of copies, waiting time.
  /// - Returns: the new copy, or the current one if the file has its state.
  /// - Throws: `damaged` or `setMismatch` for a file that is not sound; `rolledBack` for one that is older than the
  ///   anchor or the current copy; `anchorMismatch`, `pinMismatch` for another store or branch; `alreadyExists` for a link
  ///   `current` that this call did not make; `locked` if another process adopts here; `noSuchFile`, `cannotUnlock`,
  ///   `diskFull`. Nothing is adopted then, and the link is as before.
  public func adopt(
    _ followed: URL, key: StoreKey, anchor: String? = nil, options: AdoptOptions = AdoptOptions()
  ) throws(StoreError) -> Adoption {
    try StoreEngine.requireSoundCipher()
    let anchor: Anchor? = if let anchor { try Anchor(anchor) } else { nil }
    return try Adopting(
      folder: url.path, followed: followed.path, key: key.remembering(), anchor: anchor, options: options
    ).run()
  }

  /// `adopt` for async code. Cancelled, it has adopted a whole copy or none.
  public func adopt(
    _ followed: URL, key: StoreKey, anchor: String? = nil, options: AdoptOptions = AdoptOptions()
  ) async throws -> Adoption {
    try await offCooperativePool { try self.adopt(followed, key: key, anchor: anchor, options: options) }
  }
}
