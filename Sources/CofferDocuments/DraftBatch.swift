/// A batch of incoming documents, with a shared UTF-8 buffer and the ranges of each document's parts.
///
/// A source fills the batch, the store encrypts the documents, and the source then fills the emptied batch again, which
/// reuses its memory. Ranges may share bytes. For example, a title doesn't take memory if it's the text's first line.
public struct DraftBatch: Sendable {
  /// The buffer that contains the ranges of all ``drafts``. All ranges except for keys must be valid UTF-8.
  public var bytes: [UInt8] = []
  /// The documents in order.
  public var drafts: [Draft] = []
  /// The attachments that the drafts refer to.
  public var attachments: [DraftAttachment] = []
  /// Reads a JSON record without a text as parts of a document that keeps its text. The arguments are the record and
  /// its number. The result is a batch with a single document.
  package var readParts: (@Sendable (UnsafeRawBufferPointer, Int) throws -> DraftBatch)?

  /// Creates an empty batch.
  public init() {}

  /// A document in a batch.
  public struct Draft: Sendable {
    /// The document's ID in the input, which is used only if the store keeps IDs.
    public var id: DocumentID?
    /// The collection name in the input.
    public var collection: Range<Int>?
    /// The title, or `nil` if the document is untitled or the collection's rule derives the title.
    public var title: Range<Int>?
    /// Whether updates ignore the title, unless they replace whole documents. Examples are a file's name and a value's
    /// `name`.
    package var isUsualTitle = false
    /// The text, or `nil` if the input doesn't contain it. A new document is then empty. An updated document keeps its
    /// text, unless the update replaces whole documents.
    public var text: Range<Int>?
    /// Whether the text is the whole record, because the record doesn't have a separate text.
    package var isWholeRecord = false
    /// The key of 1 to 1024 bytes, or `nil` if the document doesn't have a key.
    public var key: Range<Int>?
    /// The attributes as a canonical JSON object (RFC 8785), in the form that `Attributes` writes.
    public var attributes: Range<Int>?
    /// The parent's ID in the input, which is used only if the store keeps IDs.
    public var parent: DocumentID?
    /// Whether a missing parent means that the document doesn't have a parent.
    package var knowsParent = false
    /// The attachments, as a range in ``DraftBatch/attachments``.
    public var attachments = 0..<0
    /// The creation date. With `nil`, a new document uses ``modified`` or the current date. An updated document keeps
    /// its date, unless the update replaces whole documents.
    public var created: Timestamp?
    /// The date of the last change. With `nil`, the store uses the current date, or ``created`` for a new document in a
    /// bulk import that doesn't update documents.
    public var modified: Timestamp?
    /// Whether a missing date is the current date, even if the other date is given, as in a `Document`.
    package var hasSeparateDates = false
    /// A Boolean value that indicates whether the text is the JSON of a `Codable` value.
    public var isJSON = false
    /// A Boolean value that indicates whether the record comes from an export and is complete, so a document without a
    /// title is untitled.
    public var isComplete = false
    /// The record's number in the input, from 1, for messages.
    public var record: Int

    /// Creates a draft without a title, key, attributes or dates.
    ///
    /// - Parameters:
    ///   - text: The text's range in the batch's bytes, or `nil` if the input doesn't contain a text.
    ///   - record: The record's number in the input, from 1.
    public init(text: Range<Int>?, record: Int) {
      self.text = text
      self.record = record
    }
  }

  /// A Boolean value that indicates whether the batch is empty.
  public var isEmpty: Bool { drafts.isEmpty }

  /// Removes all documents, but keeps the memory for reuse.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    drafts.removeAll(keepingCapacity: true)
    attachments.removeAll(keepingCapacity: true)
  }
}

/// A bulk source of documents, such as a file, another store, or an app's data.
public protocol DraftSource {
  /// Appends the next documents to an emptied batch. A good size is about 256 KiB of text or 512 documents.
  ///
  /// - Returns: `false`, without appending documents, at the end.
  /// - Throws: The source's errors, such as for a file that can't be read or parsed. The operation that reads the
  ///   source then fails with this error.
  mutating func read(into batch: inout DraftBatch) throws -> Bool
}
