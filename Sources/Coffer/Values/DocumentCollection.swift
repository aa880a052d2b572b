/// The name of a collection, to read from and write into. Making one reads and writes nothing.
public struct DocumentCollection: Sendable, Hashable {
  public let name: String

  public init(_ name: String) {
    self.name = name
  }
}

/// What a store says of one of its collections.
public struct CollectionInfo: Sendable, Hashable, Identifiable {
  public let id: CollectionID
  public let name: String
  /// What happens to a document that comes without a title.
  public let titleRule: TitleRule
  /// Whether keys that differ in case or composition only are one.
  public let foldsKeys: Bool
  /// How many documents.
  public let count: Int

  /// What the collection is read from and written into by.
  public var handle: DocumentCollection { DocumentCollection(name) }
}
