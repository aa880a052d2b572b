internal import CofferRecords

/// What a store file says of itself without a key. Nothing of it is proved.
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
  /// Collections by number with their counts; names are sealed.
  public let collections: [(id: CollectionID, count: Int)]
  public let slots: [KeySlot]
  /// Epochs with how many documents each holds; more than one while a rekey is unfinished.
  public let epochs: [(epoch: UInt32, count: Int)]
  public let pageSize: Int
  public let pageCount: Int
  public let freePages: Int
  public let sqliteVersion: String
  /// Whether the linked SQLite can lose commits when WAL is checkpointed beside a commit.
  public let hasWALResetBug: Bool
}

/// What ``DocumentStore/check(at:isQuick:wait:)`` found without a key.
public struct CheckReport: Sendable {
  public let documents: Int
  public let problems: [String]
  public var isSound: Bool { problems.isEmpty }
}
