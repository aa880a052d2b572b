package import CofferRecords

/// The name of a collection to read or write. Creating this value doesn't access the store.
///
/// You can use a string literal: `try tx.insert(document, into: "notes")`.
public struct DocumentCollection: Sendable, Hashable {
  /// The collection's name. Existing collections have 1 byte to 1 KiB of UTF-8. Names are compared byte by byte.
  public let name: String

  /// Creates a value for a collection, which doesn't need to exist. The name is checked when the collection is created.
  public init(_ name: String) {
    self.name = name
  }
}

extension DocumentCollection: ExpressibleByStringLiteral {
  public init(stringLiteral name: String) {
    self.init(name)
  }
}

/// Information about a collection in a store.
public struct CollectionInfo: Sendable, Hashable, Identifiable {
  public let id: CollectionID
  /// The collection's name.
  public let name: String
  /// The rule for untitled documents.
  public let titleRule: TitleRule
  /// A Boolean value that indicates whether keys that only differ in case or composition are equal.
  public let foldsKeys: Bool
  /// The app's own data about the collection.
  public let attributes: Attributes
  /// The number of documents, counted with an SQLite index. It isn't authenticated until `verify`.
  public let count: Int

  /// The value to read or write the collection.
  public var handle: DocumentCollection { DocumentCollection(name) }
}

extension CollectionInfo {
  package init(_ record: CollectionRecord, count: Int) {
    self.init(
      id: CollectionID(record.id), name: record.name, titleRule: record.titleRule, foldsKeys: record.foldsKeys,
      attributes: record.settings.attributes, count: count)
  }
}
