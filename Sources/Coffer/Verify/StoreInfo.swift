internal import CofferRecords

/// Information about a store file that is readable without a key. Nothing of it is verified.
public struct StoreInfo: Sendable {
  public let storeID: String
  public let pin: String
  public let fileBytes: Int64
  public let format: Int
  public let journal: String
  public let titles: TitleMode
  public let isTest: Bool
  public let isPadded: Bool
  public let documents: Int
  /// The number of documents in each collection, sorted by number; names are sealed.
  public let collections: [(id: CollectionID, count: Int)]
  public let slots: [KeySlot]
  /// The number of documents in each epoch; more than one epoch during an unfinished rekey.
  public let epochs: [(epoch: UInt32, count: Int)]
  public let pageSize: Int
  public let pageCount: Int
  public let freePages: Int
  public let sqliteVersion: String
  /// Whether the linked SQLite can lose commits when one connection checkpoints the WAL while another commits.
  public let hasWALResetBug: Bool
}

/// The findings of ``DocumentStore/check(at:isQuick:wait:)``, made without a key.
public struct CheckReport: Sendable {
  public let documents: Int
  public let problems: [String]
  public var isSound: Bool { problems.isEmpty }
}
