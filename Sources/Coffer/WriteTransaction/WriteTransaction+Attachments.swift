public import CofferEngine
internal import CofferFoundation
internal import CofferRecords

extension WriteTransaction {
  /// Attaches a content to a document, sealed in chunks of 64 KiB.
  ///
  /// Other writers wait until the transaction ends. A stream is therefore read before, by
  /// `AttachmentContent.stream(_:)`.
  ///
  /// - Parameters:
  ///   - content: Bytes, a file or a stream.
  ///   - id: The document.
  ///   - name: The attachment's name, of up to 1,024 bytes, which no other attachment of the document has. The default is
  ///     the name of the attached file.
  ///   - type: The media type, such as `image/png`. The default is the one that the name's extension stands for, or an
  ///     empty text.
  ///   - date: The date of the content. The default is that of the attached file, or else now.
  ///   - progress: Called with the number of bytes that are attached.
  /// - Returns: The attachment.
  /// - Throws: `noSuchDocument`, `alreadyExists` if an attachment of the document has the name, `invalidArgument`,
  ///   `tooLarge`, `noSuchFile`, `ioFailure`, `cancelled`, or `locked` for a store that this process has open. The
  ///   document is as before then.
  @discardableResult
  public func attach(
    _ content: AttachmentContent, to id: DocumentID, name: String? = nil, type: String? = nil, date: Timestamp? = nil,
    progress: ProgressHandler? = nil
  ) throws(StoreError) -> Attachment {
    try transaction.editor.attach(content, to: id, name: name, mediaType: type, date: date, progress)
  }

  /// Attaches bytes to a document; see ``attach(_:to:name:type:date:progress:)``.
  @discardableResult
  public func attach(
    _ bytes: some Sequence<UInt8>, to id: DocumentID, name: String, type: String? = nil, date: Timestamp? = nil
  ) throws(StoreError) -> Attachment {
    try attach(.bytes(bytes), to: id, name: name, type: type, date: date)
  }

  /// Replaces an attachment by another one with the same name.
  ///
  /// - Parameters:
  ///   - attachment: The attachment, which is removed.
  ///   - content: The content of the new one.
  ///   - type: The media type. The default is the former one.
  ///   - date: The date of the content. The default is that of the attached file, or else now.
  ///   - progress: Called with the number of bytes that are attached.
  /// - Returns: The new attachment, which has another ID.
  /// - Throws: `noSuchAttachment`, `damaged`, and the errors of ``attach(_:to:name:type:date:progress:)``. The document is
  ///   as before then.
  @discardableResult
  public func replace(
    _ attachment: Attachment.ID, with content: AttachmentContent, type: String? = nil, date: Timestamp? = nil,
    progress: ProgressHandler? = nil
  ) throws(StoreError) -> Attachment {
    try transaction.editor.replace(attachment, with: content, mediaType: type, date: date, progress)
  }

  /// Gives an attachment another name.
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
