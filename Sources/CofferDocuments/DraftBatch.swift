/// Incoming documents in bulk: one buffer of UTF-8, and for each document the ranges of its parts.
///
/// A batch is filled by a source, sealed by the store, emptied and filled again; its memory is kept. Ranges may share
/// bytes (a title that is the text's first line costs nothing).
public struct DraftBatch: Sendable {
  /// The buffer behind every range of ``drafts``. Valid UTF-8 within each range.
  public var bytes: [UInt8] = []
  /// The documents, in their order.
  public var drafts: [Draft] = []
  /// The attachments behind the drafts' ranges of attachments.
  public var attachments: [DraftAttachment] = []
  /// Reads a record without a text, in JSON, as the parts of a document that keeps its text. The arguments are the
  /// record and its number, the result is a batch of one document.
  package var readParts: (@Sendable (UnsafeRawBufferPointer, Int) throws -> DraftBatch)?

  /// An empty batch.
  public init() {}

  /// One document of a batch.
  public struct Draft: Sendable {
    /// The id in the input; used only when ids are kept.
    public var id: DocumentID?
    /// The name of a collection in the input.
    public var collection: Range<Int>?
    /// The title; nil for none, or for the one that the collection's rule derives.
    public var title: Range<Int>?
    /// The title is that of a new document only: a file's name, or the `name` of a value.
    package var isUsualTitle = false
    /// The text; nil if the input doesn't give it. A new document is then empty, and an updated one keeps its text.
    public var text: Range<Int>?
    /// The text is the whole record, which has no text of its own.
    package var isWholeRecord = false
    /// The key, 1 to 1024 bytes; nil for none.
    public var key: Range<Int>?
    /// A canonical JSON object (RFC 8785), as `Attributes` writes it.
    public var attributes: Range<Int>?
    /// The parent's id in the input; used only when ids are kept.
    public var parent: DocumentID?
    /// The attachments, as a range of the batch's ``DraftBatch/attachments``.
    public var attachments = 0..<0
    /// The creation date; nil for the store's clock.
    public var created: Timestamp?
    /// The date of the last change; nil for the store's clock.
    public var modified: Timestamp?
    /// Whether the text is the JSON of a `Codable` value.
    public var isJSON = false
    /// The input is a complete record of an export, in which an absent title means none.
    public var isComplete = false
    /// The record's number in its input, from 1, for messages.
    public var record: Int

    /// A draft without title, key, attributes and dates. `text` is its range in the batch's bytes, `record` its number
    /// in the input, from 1.
    public init(text: Range<Int>?, record: Int) {
      self.text = text
      self.record = record
    }
  }

  /// Whether the batch holds no documents.
  public var isEmpty: Bool { drafts.isEmpty }

  /// Removes the documents and keeps the memory.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    drafts.removeAll(keepingCapacity: true)
    attachments.removeAll(keepingCapacity: true)
  }
}

/// A producer of documents in bulk: a file being read, another store, an app's own data.
public protocol DraftSource {
  /// Appends the next documents to an emptied batch; about 256 KiB of text or 512 documents is a good size.
  ///
  /// - Returns: false, with nothing appended, when there are no more.
  /// - Throws: errors of the source, such as those of a file that can't be read or parsed. The work that reads it then
  ///   ends with this error.
  mutating func read(into batch: inout DraftBatch) throws -> Bool
}
