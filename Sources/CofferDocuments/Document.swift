/// A text with its title, key, attributes and dates, as apps write and read it.
///
/// All of these are encrypted, except for titles in a store with ``TitleMode/clear``. Texts can be empty and can
/// contain U+0000.
public struct Document: Hashable, Sendable {
  /// The maximum length of a text in UTF-8 bytes (FORMAT, "Column classes and sizes").
  @inlinable
  package static var maximumTextByteCount: Int { 256 << 20 }

  /// The title in lists, or `nil` to use the collection's ``TitleRule``.
  public var title: String?
  /// The text, of at most 256 MiB in UTF-8.
  public var text: String
  /// The caller's own name for the document, which is unique in its collection, or `nil`.
  public var key: DocumentKey?
  /// The document's metadata, which headers contain without decrypting the text.
  public var attributes: Attributes
  /// The parent's ID in the same collection, or `nil` if the document doesn't have a parent.
  public var parent: DocumentID?
  /// The creation date, or `nil` to use the current date for a new document.
  public var created: Timestamp?
  /// The date of the last change, or `nil` to use the current date.
  public var modified: Timestamp? {
    didSet { wasDated.value = true }
  }
  /// A Boolean value that indicates whether the text is the JSON of a `Codable` value.
  public var isJSON: Bool
  /// Whether ``modified`` was set since this document was created or read. Doesn't affect equality.
  package var wasDated = Unequated(value: false)

  /// Creates a document to insert. Limits are checked when the document is written.
  ///
  /// Only the text is required. Without a title, the collection's rule applies. Without dates, the store's clock
  /// applies.
  public init(
    title: String? = nil, text: String, key: DocumentKey? = nil, attributes: Attributes = Attributes(),
    parent: DocumentID? = nil, created: Timestamp? = nil, modified: Timestamp? = nil, isJSON: Bool = false
  ) {
    self.title = title
    self.text = text
    self.key = key
    self.attributes = attributes
    self.parent = parent
    self.created = created
    self.modified = modified
    self.isJSON = isJSON
  }

  /// The treatment of a document with an empty text.
  public enum EmptyText: Hashable, Sendable {
    /// Store the document like any other document.
    case store
    /// Skip the document and report it to the caller.
    case skip
    /// Throw an error and don't store any document.
    case fail
  }
}

/// A value that doesn't count when two documents are compared.
package struct Unequated: Hashable, Sendable {
  package var value: Bool

  package static func == (lhs: Unequated, rhs: Unequated) -> Bool { true }

  package func hash(into hasher: inout Hasher) {}
}

/// A document's position in its collection's order.
public enum Placement: Hashable, Sendable {
  /// Before all documents in the collection.
  case top
  /// After all documents in the collection.
  case bottom
  /// Directly before a document in the same collection.
  case before(DocumentID)
  /// Directly after a document in the same collection.
  case after(DocumentID)
}
