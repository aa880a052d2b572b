public import CofferDocuments
public import CofferEngine

/// Information about a store file that is readable without a key. It isn't verified.
public struct StoreInfo: Sendable {
  /// The store's ID as 32 hex digits, the same in all copies.
  public let storeID: String
  /// The pin for the header's root key.
  public let pin: StorePin
  /// The file's size in bytes, without a log.
  public let fileBytes: Int64
  /// The format version.
  public let format: Int
  /// The journal mode, `wal` or `rollback`.
  public let journal: String
  /// The title mode, which determines whether titles are sealed, in plaintext or not stored.
  public let titles: CreateOptions.Titles
  /// A Boolean value that indicates whether it's a TEST store, which published test keys can open.
  public let isTest: Bool
  /// A Boolean value that indicates whether padding hides lengths.
  public let isPadded: Bool
  /// The number of rows.
  public let documents: Int
  /// The number of documents in each collection, sorted by collection ID. The names are sealed.
  public let collections: [(id: CollectionID, count: Int)]
  /// The slots in the file. ``KeySlot/opened`` is always `false`.
  public let slots: [KeySlot]
  /// The number of documents in each epoch. An unfinished rekey has several epochs.
  public let epochs: [(epoch: UInt32, count: Int)]
  /// The page size in bytes.
  public let pageSize: Int
  /// The number of pages, including free pages.
  public let pageCount: Int
  /// The number of free pages, which compacting returns to the file system.
  public let freePages: Int
  /// The linked SQLite's version, such as `3.40.1`.
  public let sqliteVersion: String
  /// A Boolean value that indicates whether the linked SQLite can lose commits when a connection checkpoints the WAL
  /// while another connection commits.
  public let hasWALResetBug: Bool
}
