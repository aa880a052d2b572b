public import CofferDocuments
public import CofferText

/// A destination of documents in bulk: a file being written, another store.
///
/// Call ``begin()`` once, ``write(_:inCollection:)`` for each document in order, ``finish()`` once; without the last call
/// the output is incomplete.
public protocol DocumentSink {
  mutating func begin() throws(FormatError)

  /// - Parameter collection: the name of the document's collection.
  mutating func write(_ document: OpenedDocument, inCollection collection: String) throws(FormatError)

  mutating func finish() throws(FormatError)
}

/// Options for writing documents in any format.
public struct WritingOptions: Sendable {
  public var encoding: TextEncoding
  /// Begins with a byte order mark.
  public var byteOrderMark: Bool
  /// Texts of a directory begin with their attributes; see ``TextDirectorySink``.
  public var frontMatter = false

  public init(encoding: TextEncoding = .utf8, byteOrderMark: Bool = false) {
    self.encoding = encoding
    self.byteOrderMark = byteOrderMark
  }
}
