/// The name of a collection, for reading and writing. Creating this value reads and writes nothing.
///
/// A string literal will do: `try tx.insert(document, into: "notes")`.
public struct DocumentCollection: Sendable, Hashable {
  public let name: String

  public init(_ name: String) {
    self.name = name
  }
}

extension DocumentCollection: ExpressibleByStringLiteral {
  public init(stringLiteral name: String) {
    self.init(name)
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
  /// An app's own data about the collection.
  public let attributes: Attributes
  /// Number of documents.
  public let count: Int

  /// The collection's handle for reading and writing.
  public var handle: DocumentCollection { DocumentCollection(name) }
}
