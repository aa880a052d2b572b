public import CofferDocuments
public import CofferText

/// A destination for many documents, such as a new file or another store.
///
/// Call ``begin()`` once, ``write(_:inCollection:)`` for each document in order, and ``finish()`` once. Without the
/// last call, the output is incomplete.
public protocol DocumentSink {
  /// Writes everything before the first document, such as a header row.
  ///
  /// - Throws: ``FormatError``: `unwritable`, or `outputExists` if the output must be new or empty.
  mutating func begin() throws(FormatError)

  /// Writes a document in the named collection.
  ///
  /// - Throws: ``FormatError``: `unwritable`, or `unencodable` for a character or key that the output can't represent.
  ///   The output is then incomplete. Also throws errors from reading attachments.
  mutating func write(_ document: OpenedDocument, inCollection collection: String) throws

  /// Writes everything after the last document, and completes the output.
  ///
  /// - Throws: ``FormatError``: `unwritable`. The output is then incomplete.
  mutating func finish() throws(FormatError)
}

/// Options for writing documents in any format.
public struct WritingOptions: Sendable {
  /// The encoding of texts. Writing a character that isn't in the encoding throws `unencodable`.
  public var encoding: TextEncoding
  /// A Boolean value that indicates whether the output begins with a byte order mark.
  public var byteOrderMark: Bool
  /// A Boolean value that indicates whether texts in a directory begin with their attributes. See
  /// ``TextDirectorySink``.
  public var frontMatter = false

  /// Creates options for texts without front matter.
  public init(encoding: TextEncoding = .utf8, byteOrderMark: Bool = false) {
    self.encoding = encoding
    self.byteOrderMark = byteOrderMark
  }
}
