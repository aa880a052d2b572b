/// The name of a collection, for reading and writing. Creating this value reads and writes nothing.
///
/// A string literal will do: `try tx.insert(document, into: "notes")`.
public struct DocumentCollection: Sendable, Hashable {
  /// The collection's name: 1 byte to 1 KiB of UTF-8 for one that exists. Names are compared byte by byte.
  public let name: String

  /// The collection of that name, which may not exist yet. The name is checked by the call that creates the collection.
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
  /// The collection's name.
  public let name: String
  /// The rule for a document without a title.
  public let titleRule: TitleRule
  /// Whether keys that differ only in case or composition are one key.
  public let foldsKeys: Bool
  /// An app's own data about the collection.
  public let attributes: Attributes
  /// Number of documents, counted by an SQLite index; unproved until `verify`.
  public let count: Int

  /// The collection's handle for reading and writing.
  public var handle: DocumentCollection { DocumentCollection(name) }
}
