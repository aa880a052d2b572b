public import CofferDocuments
public import CofferText

/// Anything that documents are written to in bulk: a file being made, another store.
///
/// ``begin()`` once, ``write(_:inCollection:)`` for each document in order, ``finish()`` once; an output that was not
/// finished is not whole.
public protocol DocumentSink {
  mutating func begin() throws(FormatError)

  /// - Parameter collection: the name of the document's collection.
  mutating func write(_ document: OpenedDocument, inCollection collection: String) throws(FormatError)

  mutating func finish() throws(FormatError)
}

/// How documents are to be written, whatever the format.
public struct WritingOptions: Sendable {
  public var encoding: TextEncoding
  /// A byte order mark comes first.
  public var byteOrderMark: Bool

  public init(encoding: TextEncoding = .utf8, byteOrderMark: Bool = false) {
    self.encoding = encoding
    self.byteOrderMark = byteOrderMark
  }
}
