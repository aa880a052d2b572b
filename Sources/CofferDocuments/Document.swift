/// A document as an app writes and reads it: a text with its title, key, attributes and dates.
///
/// All of them are sealed with the text; a store made with ``TitleMode/clear`` keeps titles in plaintext. Texts may be
/// empty and may hold U+0000.
public struct Document: Hashable, Sendable {
  /// The longest text that a store takes, in bytes of UTF-8 (FORMAT, "Column classes and sizes").
  @inlinable
  package static var maximumTextByteCount: Int { 256 << 20 }

  /// Shown in lists. If nil, the collection's ``TitleRule`` decides.
  public var title: String?
  /// At most 256 MiB of UTF-8.
  public var text: String
  /// The caller's own name for the document, unique in its collection.
  public var key: DocumentKey?
  /// A JSON object that headers show without opening the text.
  public var attributes: Attributes
  /// The document this one belongs to, in the same collection.
  public var parent: DocumentID?
  /// Creation date; if nil, the store's clock decides.
  public var created: Timestamp?
  /// Modification date; if nil, the store's clock decides.
  public var modified: Timestamp? {
    didSet { wasDated.value = true }
  }
  /// `text` is the JSON of a `Codable` value.
  public var isJSON: Bool
  /// Whether ``modified`` was set since this document was made or read; not part of what the document is.
  package var wasDated = Unequated(value: false)

  /// A document that can be inserted. Limits are checked by the write, not here.
  ///
  /// Nothing but the text is needed: without a title the collection's rule decides, and without dates the store's
  /// clock.
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

  /// The treatment of a document whose text has no bytes.
  public enum EmptyText: Hashable, Sendable {
    /// Stores it like any other.
    case store
    /// Leaves it out and reports it to the caller.
    case skip
    /// Fails, and nothing is stored.
    case fail
  }
}

/// A value that doesn't count when two documents are compared.
package struct Unequated: Hashable, Sendable {
  package var value: Bool

  package static func == (lhs: Unequated, rhs: Unequated) -> Bool { true }

  package func hash(into hasher: inout Hasher) {}
}

/// A document's place in the order of its collection.
public enum Placement: Hashable, Sendable {
  /// Before all documents of the collection.
  case top
  /// Behind all documents of the collection.
  case bottom
  /// Right before that document, which is in the same collection.
  case before(DocumentID)
  /// Right behind that document, which is in the same collection.
  case after(DocumentID)
}
