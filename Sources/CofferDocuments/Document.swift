/// One document as an app writes it and reads it: a text, and what is said of it.
///
/// Titles, keys, attributes and dates are sealed with the text; a title stands in clear only in a store that was made
/// so (``TitleMode/clear``). Texts may be empty and may hold U+0000.
public struct Document: Hashable, Sendable {
  /// Shown in lists. Nil: the collection's ``TitleRule`` decides what the store keeps.
  public var title: String?
  /// At most 256 MiB of UTF-8.
  public var text: String
  /// The caller's own name for the document, unique in its collection.
  public var key: ExternalKey?
  /// A JSON object that headers show without opening the text.
  public var attributes: Attributes
  /// The document this one belongs to, in the same collection.
  public var parent: DocumentID?
  /// When it was made; the store's clock decides where this is nil.
  public var created: Timestamp?
  /// When it was last changed; the store's clock decides where this is nil.
  public var modified: Timestamp?
  /// True where `text` is the JSON of a `Codable` value.
  public var isJSON: Bool

  public init(
    title: String? = nil, text: String, key: ExternalKey? = nil, attributes: Attributes = Attributes(),
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
}
