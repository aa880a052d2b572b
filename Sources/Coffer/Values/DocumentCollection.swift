/// The name of a collection, for reading and writing. Creating this value reads and writes nothing.
public struct DocumentCollection: Sendable, Hashable {
  public let name: String

  public init(_ name: String) {
    self.name = name
  }
}

/// Information about one collection of a store.
public struct CollectionInfo: Sendable, Hashable, Identifiable {
  public let id: CollectionID
  public let name: String
  /// The rule for a document without a title.
  public let titleRule: TitleRule
  /// Whether keys that differ only in case or composition are one key.
  public let foldsKeys: Bool
  /// Number of documents.
  public let count: Int

  /// The collection's handle for reading and writing.
  public var handle: DocumentCollection { DocumentCollection(name) }
}
