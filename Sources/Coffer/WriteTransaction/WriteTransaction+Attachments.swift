public import CofferEngine
internal import CofferFoundation
internal import CofferRecords

extension WriteTransaction {
  /// Attaches a content to a document, encrypted in chunks of 64 KiB.
  ///
  /// Other writers wait until the transaction ends. Therefore, read a stream before the transaction, with
  /// `AttachmentContent.stream(_:)`.
  ///
  /// - Parameters:
  ///   - content: Bytes, a file or a stream.
  ///   - id: The document.
  ///   - name: The attachment's name, of up to 1,024 bytes, which must be unique in the document. The default is the
  ///     attached file's name.
  ///   - type: The media type, such as `image/png`. The default is the type for the name's extension, or an empty
  ///     string.
  ///   - date: The content's date. The default is the attached file's date, or the current date for other contents.
  ///   - progress: Called with the number of bytes attached.
  /// - Returns: The attachment.
  /// - Throws: `noSuchDocument`, `alreadyExists` if an attachment of the document has the name, `invalidArgument`,
  ///   `tooLarge`, `noSuchFile`, `ioFailure`, `cancelled`, or `locked` for a store that's open in this process. The
  ///   document is then unchanged.
  @discardableResult
  public func attach(
    _ content: AttachmentContent, to id: DocumentID, name: String? = nil, type: String? = nil, date: Timestamp? = nil,
    progress: ProgressHandler? = nil
  ) throws(StoreError) -> Attachment {
    try transaction.editor.attach(content, to: id, name: name, mediaType: type, date: date, progress)
  }

  /// Attaches bytes to a document, like ``attach(_:to:name:type:date:progress:)``, and throws the same errors.
  @discardableResult
  public func attach(
    _ bytes: some Sequence<UInt8>, to id: DocumentID, name: String, type: String? = nil, date: Timestamp? = nil
  ) throws(StoreError) -> Attachment {
    try attach(.bytes(bytes), to: id, name: name, type: type, date: date)
  }

  /// Replaces an attachment with a new attachment of the same name.
  ///
  /// - Parameters:
  ///   - attachment: The attachment to replace.
  ///   - content: The new content.
  ///   - type: The media type. The default is the replaced attachment's type.
  ///   - date: The content's date. The default is the attached file's date, or the current date for other contents.
  ///   - progress: Called with the number of bytes attached.
  /// - Returns: The new attachment, which has another ID.
  /// - Throws: `noSuchAttachment`, `damaged`, and the errors of ``attach(_:to:name:type:date:progress:)``. The document
  ///   is then unchanged.
  @discardableResult
  public func replace(
    _ attachment: Attachment.ID, with content: AttachmentContent, type: String? = nil, date: Timestamp? = nil,
    progress: ProgressHandler? = nil
  ) throws(StoreError) -> Attachment {
    try transaction.editor.replace(attachment, with: content, mediaType: type, date: date, progress)
  }

  /// Renames an attachment.
  ///
  /// - Throws: `noSuchAttachment`, `alreadyExists` if another attachment of the document has the name,
  ///   `invalidArgument`, `tooLarge`, `damaged`.
  public func rename(_ attachment: Attachment.ID, to name: String) throws(StoreError) {
    try transaction.editor.rename(attachment, to: name)
  }

  /// Removes an attachment and its content from its document.
  ///
  /// - Throws: `noSuchAttachment`, `damaged`.
  public func detach(_ attachment: Attachment.ID) throws(StoreError) {
    try transaction.editor.detach(attachment)
  }
}
