internal import CofferRecords

/// Information about a store file that is readable without a key. Nothing of it is verified.
public struct StoreInfo: Sendable {
  /// 32 hex digits, the same in every copy of the store.
  public let storeID: String
  /// The pin of the root key that the header names.
  public let pin: String
  /// The file's size in bytes, without a log beside it.
  public let fileBytes: Int64
  /// The version of the format.
  public let format: Int
  /// `wal` or `rollback`.
  public let journal: String
  /// Whether titles are sealed, in clear or not stored.
  public let titles: TitleMode
  /// Whether it is a TEST store, which published test keys may open.
  public let isTest: Bool
  /// Whether lengths are hidden by padding.
  public let isPadded: Bool
  /// The number of rows.
  public let documents: Int
  /// The number of documents in each collection, sorted by number; names are sealed.
  public let collections: [(id: CollectionID, count: Int)]
  /// The slots, as the file has them; ``KeySlot/opened`` is false for all.
  public let slots: [KeySlot]
  /// The number of documents in each epoch; more than one epoch during an unfinished rekey.
  public let epochs: [(epoch: UInt32, count: Int)]
  /// The size of a page in bytes.
  public let pageSize: Int
  /// The number of pages, free ones included.
  public let pageCount: Int
  /// The number of free pages, which compacting gives back.
  public let freePages: Int
  /// The version of the linked SQLite, such as `3.40.1`.
  public let sqliteVersion: String
  /// Whether the linked SQLite can lose commits when one connection checkpoints the WAL while another commits.
  public let hasWALResetBug: Bool
}

/// The findings of ``DocumentStore/check(at:isQuick:wait:)``, made without a key.
public struct CheckReport: Sendable {
  /// The number of rows that were checked.
  public let documents: Int
  /// The findings in words; empty for a sound file.
  public let problems: [String]
  /// Whether there are no findings.
  public var isSound: Bool { problems.isEmpty }
}
