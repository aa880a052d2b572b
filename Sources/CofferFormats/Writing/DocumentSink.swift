public import CofferDocuments
public import CofferText

/// A destination of documents in bulk: a file being written, another store.
///
/// Call ``begin()`` once, ``write(_:inCollection:)`` for each document in order, ``finish()`` once; without the last
/// call the output is incomplete.
public protocol DocumentSink {
  /// Writes everything that precedes the first document, such as a header row.
  ///
  /// - Throws: ``FormatError``: `unwritable`, or `outputExists` for an output that must be new or empty.
  mutating func begin() throws(FormatError)

  /// Writes one document of the collection of that name.
  ///
  /// - Throws: ``FormatError``: `unwritable`; `unencodable` for a character or key that the output can't hold. The
  ///   output is incomplete then. Errors of reading attachments.
  mutating func write(_ document: OpenedDocument, inCollection collection: String) throws

  /// Writes everything that follows the last document; afterwards the output is complete.
  ///
  /// - Throws: ``FormatError``: `unwritable`. The output is incomplete then.
  mutating func finish() throws(FormatError)
}

/// Options for writing documents in any format.
public struct WritingOptions: Sendable {
  /// The encoding of texts; a character that it lacks ends the writing with `unencodable`.
  public var encoding: TextEncoding
  /// Whether the output begins with a byte order mark.
  public var byteOrderMark: Bool
  /// Texts of a directory begin with their attributes; see ``TextDirectorySink``.
  public var frontMatter = false

  /// Options of texts without front matter.
  public init(encoding: TextEncoding = .utf8, byteOrderMark: Bool = false) {
    self.encoding = encoding
    self.byteOrderMark = byteOrderMark
  }
}
