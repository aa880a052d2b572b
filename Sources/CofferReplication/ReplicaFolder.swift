internal import Coffer
public import CofferEngine
public import CofferFoundation
internal import CofferPlatform
internal import CofferRecords
internal import CofferSQLite

/// A folder with verified copies of a store that another machine writes, for readers on this machine.
///
/// Copies have ascending numbers, such as `0000000001.coffer`, and the link `current` points to the latest copy.
/// Readers open `current`, and reopen it when `DocumentStore.isSuperseded` is true.
///
/// ```swift
/// let folder = ReplicaFolder(at: URL(filePath: "/srv/replica"))
/// let outcome = try folder.adopt(followed, key: .keyFile(keyURL), anchor: anchor)
/// ```
public struct ReplicaFolder: Sendable {
  /// The folder's URL.
  public let url: URL

  /// Creates a value for an existing folder without reading it.
  public init(at url: URL) {
    self.url = url
  }

  /// The link to the latest copy, which readers open.
  public var current: URL { url.appending(path: Self.linkName) }

  static let linkName = "current"
  static let ending = ".coffer"
  /// Enough for three copies per second for a century.
  static let digits = 10
}

/// The options for `ReplicaFolder.adopt`.
public struct AdoptOptions: Sendable {
  /// The required pin. After a failover, specify the new branch's pin, so the new branch can replace a copy of the old
  /// branch, even with a later generation.
  public var pin: StorePin?
  /// The relation to the anchor that the copy must have.
  public var requirement = StoreAnchor.Requirement.sameOrNewer
  /// A Boolean value that indicates whether a newer root key is accepted because you expect a rekey. Only a passphrase or
  /// key file can then prove that an owner of the secret made the new root key. For other keys, specify the new pin.
  public var allowsRekey = false
  /// The number of copies to keep, including the new copy. The minimum is 1.
  public var keptCopies = 5
  /// A Boolean value that indicates whether to open only the documents that changed since the previous copy. In that
  /// case, damaged texts of other documents aren't detected. The first copy, and a copy after a change of keys or
  /// branch, is always opened completely.
  public var opensChangedOnly = false
  /// A Boolean value that indicates whether published test keys may open TEST stores. Use it only in tests.
  public var allowsTestKeys = false
  /// The maximum time to wait for locks, and to retry while the copy is invalid.
  public var wait: Duration = .seconds(10)

  /// Creates options that keep five copies and wait ten seconds.
  public init() {}
}

/// The result of `ReplicaFolder.adopt`.
public enum Adoption: Sendable, Hashable {
  /// The latest copy already has the followed file's state, so a copy wasn't added.
  case unchanged(Adoption.Copy)
  /// A new copy was added, and `current` points to it.
  case adopted(Adoption.Copy)

  /// A verified copy in a ``ReplicaFolder``.
  public struct Copy: Sendable, Hashable {
    /// The copy's file.
    public let url: URL
    /// The copy's generation.
    public let generation: UInt64
    /// The number of documents.
    public let documents: Int
    /// The copy's anchor.
    public let anchor: StoreAnchor
    /// The relation to the given anchor, or `nil` without an anchor.
    public let relation: StoreAnchor.Relation?
  }
}

extension ReplicaFolder {
  /// Copies a file that a replication program changes, verifies the copy, and makes it current.
  ///
  /// `litestream restore -f` writes pages to its file even while other processes read it. Readers must therefore never
  /// open that file. Instead, this method makes a consistent copy, page by page and in rollback journal mode, and
  /// verifies that
  /// - the set hash, count, structure and SQLite's integrity check are correct, and every document opens;
  /// - it isn't older than `anchor` or the current copy, and isn't known to belong to another branch;
  /// - it has the expected pin, if there is one.
  ///
  /// Failed copies are retried until `options.wait` has passed. The new copy and link are durable before older copies
  /// are deleted. Copies aren't writable. Only the owner can read the first copy, and later copies have the previous
  /// copy's read permissions.
  ///
  /// Reads and writes the file once, and decrypts every document. Only one process at a time can adopt in a folder.
  ///
  /// - Parameters:
  ///   - followed: The file written by the replication program.
  ///   - key: The key that opens the store.
  ///   - anchor: An anchor published by the writer, such as the last confirmed anchor, or `nil` to compare only
  ///     with the current copy.
  ///   - options: The expected pin, the requirements for the comparison, the number of copies, and the waiting time.
  /// - Returns: The new copy, or the current copy if it already has the file's state.
  /// - Throws: `damaged` or `setMismatch` if the file is invalid. `rolledBack` if it's older than the anchor or current
  ///   copy. `anchorMismatch` or `pinMismatch` if it's another store or branch. `alreadyExists` if the link `current`
  ///   wasn't made by this method. `locked` if another process adopts here. `noSuchFile`, `cannotUnlock` or `diskFull`.
  ///   After an error, the link and current copy are unchanged.
  public func adopt(
    _ followed: URL, key: StoreKey, anchor: StoreAnchor? = nil, options: AdoptOptions = AdoptOptions()
  ) throws(StoreError) -> Adoption {
    try StoreEngine.requireWorkingCipher()
    return try Adopting(
      folder: url.path, followed: followed.path, key: key.remembering(), anchor: anchor, options: options
    ).run()
  }
}
