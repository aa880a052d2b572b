package import CofferDocuments
package import CofferSealing
internal import CofferText

/// A document's identity, its parent's, and the stored form of its ``DocumentDots``.
package struct DocumentHistory: Hashable, Sendable {
  package var uid: UniqueID
  package var parent: UniqueID?
  package var dots: [UInt8]

  package init(uid: UniqueID, parent: UniqueID?, dots: [UInt8]) {
    self.uid = uid
    self.parent = parent
    self.dots = dots
  }

  package init(_ head: HeadData) {
    self.init(uid: head.uid, parent: head.parent, dots: Array(head.dots))
  }

  /// Changes the dots.
  package mutating func change(_ change: (inout DocumentDots) -> Void) {
    var decoded = decodedDots
    change(&decoded)
    dots = decoded.bytes
  }

  package var decodedDots: DocumentDots { dots.withUnsafeBytes { DocumentDots(checked: $0) } }
}

/// Seals documents into rows, first the body, then the head, which authenticates the row, then the set hash's element.
///
/// Use it on one thread at a time. Each frame is written where its ciphertext goes, and sealed in place.
package struct RecordSealer {
  /// A document's parts of any length and its sealed parts. ``RowFields`` has its other parts.
  package struct Content {
    package var position: DocumentPosition
    package var title: UnsafeRawBufferPointer?
    package var key: UnsafeRawBufferPointer?
    package var blindIndex: [UInt8]?
    /// A canonical JSON object, or empty.
    package var attributes: UnsafeRawBufferPointer
    package var created: Int64
    package var modified: Int64
    package var history: DocumentHistory
    /// The digest of a text that's stored already, or `nil` for a new text.
    package var textDigest: TextDigest?
    /// The entries of later versions.
    package var extensionBytes: [UInt8]

    package init(
      position: DocumentPosition, title: UnsafeRawBufferPointer?, key: UnsafeRawBufferPointer?, blindIndex: [UInt8]?,
      attributes: UnsafeRawBufferPointer, created: Int64, modified: Int64, history: DocumentHistory,
      textDigest: TextDigest? = nil, extensionBytes: [UInt8] = []
    ) {
      self.position = position
      self.title = title
      self.key = key
      self.blindIndex = blindIndex
      self.attributes = attributes
      self.created = created
      self.modified = modified
      self.history = history
      self.textDigest = textDigest
      self.extensionBytes = extensionBytes
    }

    /// Creates the content of a row and its opened head.
    ///
    /// - Parameter changed: The parts to be changed, whose entries of later versions are dropped.
    package init(
      _ row: RecordRow, _ head: HeadData, blindIndex: [UInt8]?, changing changed: ExtensionPart.Parts = []
    ) {
      self.init(
        position: DocumentPosition(verified: row.position), title: head.title, key: head.key, blindIndex: blindIndex,
        attributes: head.attributes, created: head.created, modified: head.modified, history: DocumentHistory(head),
        textDigest: head.textDigest, extensionBytes: head.extensionPart.bytes(withoutThoseOf: changed))
    }
  }

  package let keys: RowKeys

  package init(_ keys: RowKeys) {
    self.keys = keys
  }

  /// Seals an entire document with the epoch of `fields`, which must be live.
  ///
  /// - Throws: `damaged` if the content has another text's digest, because a key holder may have forged this text.
  package func seal(
    _ fields: RowFields, _ content: Content, text: UnsafeRawBufferPointer, into batch: SealedBatch
  ) throws(StoreError) {
    try check(content, textCount: text.count)
    let digest = try translatingErrors { () throws(SealingError) in try keys.hasher.digest(of: text) }
    guard content.textDigest == nil || content.textDigest == digest else {
      throw .damagedDocument(fields.id, "its text is not the one that was written")
    }
    let context = try context(of: fields)
    let isPadded = keys.session.isPadded
    let frameCount = Frame.byteCount(
      around: text.count, minimum: Frame.standardMinimum, isPadded: isPadded)
    let body = batch.reserve(frameCount)
    let bodyTag = batch.reserve(StoreFormat.bodyTagCount)
    let frame = batch.mutable(body)
    Self.write(frame: frame, count: text.count)
    UnsafeMutableRawBufferPointer(rebasing: frame[Frame.headerCount...]).copyMemory(from: text)
    let additional = keys.binding.body(id: fields.id, collection: fields.collection, epoch: fields.epoch)
    try translatingErrors { () throws(SealingError) in
      let tag = batch.mutable(bodyTag)
      let nonce = UnsafeMutableRawBufferPointer(rebasing: tag[..<XAESKey.nonceCount])
      try context.body.draw(nonce, for: frame.count, from: keys.nonces)
      try context.body.seal(
        UnsafeRawBufferPointer(frame), authenticating: additional, nonce: UnsafeRawBufferPointer(nonce),
        ciphertext: frame, tag: UnsafeMutableRawBufferPointer(rebasing: tag[XAESKey.nonceCount...]))
    }
    try sealHead(fields, content, textCount: text.count, digest, context, bodyTag: bodyTag, body: body, into: batch)
  }

  /// Seals only the head, for an unchanged body with `textCount` bytes. The content must have its digest.
  package func sealHead(
    _ fields: RowFields, _ content: Content, textCount: Int, bodyTag: UnsafeRawBufferPointer, into batch: SealedBatch
  ) throws(StoreError) {
    try check(content, textCount: textCount)
    guard let digest = content.textDigest else { preconditionFailure("internal error: a stored text has no digest") }
    let copied = batch.append(bytes: bodyTag)
    try sealHead(
      fields, content, textCount: textCount, digest, context(of: fields), bodyTag: copied, body: 0..<0, into: batch)
  }

  private func sealHead(
    _ fields: RowFields, _ content: Content, textCount: Int, _ digest: TextDigest, _ context: EpochContext,
    bodyTag: Range<Int>, body: Range<Int>, into batch: SealedBatch
  ) throws(StoreError) {
    try content.extensionBytes.withBytes { bytes throws(StoreError) in
      guard let part = ExtensionPart(bytes, of: .head) else {
        preconditionFailure("internal error: an extension part is malformed")
      }
      try content.history.dots.withBytes { dots throws(StoreError) in
        let data = HeadData(
          created: content.created, modified: content.modified, textCount: textCount, textDigest: digest,
          key: content.key, title: keys.session.titles == .sealed ? content.title : nil,
          attributes: content.attributes, uid: content.history.uid, parent: content.history.parent, dots: dots,
          extensionPart: part)
        try sealHead(fields, content, data, context, bodyTag: bodyTag, body: body, into: batch)
      }
    }
  }

  private func sealHead(
    _ fields: RowFields, _ content: Content, _ data: HeadData, _ context: EpochContext, bodyTag: Range<Int>,
    body: Range<Int>, into batch: SealedBatch
  ) throws(StoreError) {
    let mode = keys.session.titles
    let dataCount = data.byteCount
    let frameCount = Frame.byteCount(
      around: dataCount, minimum: mode == .sealed ? Frame.sealedTitleMinimum : Frame.standardMinimum,
      isPadded: keys.session.isPadded)
    guard dataCount - (data.title?.count ?? 0) <= StoreFormat.maximumHeadWithoutTitle else {
      throw StoreError(
        .tooLarge, "the attributes of document \(fields.id) are longer than 900 KiB, with its key",
        documentID: DocumentID(fields.id))
    }
    let head = batch.reserve(frameCount + XAESKey.overhead)
    let position = batch.reserve(content.position.byteCount)
    content.position.write(to: batch.mutable(position))
    let blindIndex = content.blindIndex.map { blindIndex in blindIndex.withUnsafeBytes { batch.append(bytes: $0) } }
    let title = mode == .clear ? content.title.map { batch.append(bytes: $0) } : nil
    // The following code doesn't reserve memory in the batch, so these pointers remain valid.
    let blob = batch.mutable(head)
    let frame = UnsafeMutableRawBufferPointer(rebasing: blob[XAESKey.nonceCount..<blob.count - XAESKey.tagCount])
    Self.write(frame: frame, count: dataCount)
    data.write(to: UnsafeMutableRawBufferPointer(rebasing: frame[Frame.headerCount...]))
    let positionBytes = batch.bytes(position)
    let blindIndexBytes = blindIndex.map { batch.bytes($0) }
    let titleBytes = title.map { batch.bytes($0) }
    let tag = batch.bytes(bodyTag)
    try translatingErrors { () throws(SealingError) in
      let additional = keys.binding.head(
        fields, position: positionBytes, blindIndex: blindIndexBytes, bodyTag: tag, title: titleBytes)
      try context.head.seal(
        UnsafeRawBufferPointer(frame), authenticating: additional, nonces: keys.nonces, into: blob)
      let element = keys.binding.element(
        fields, position: positionBytes, blindIndex: blindIndexBytes, bodyTag: tag, title: titleBytes,
        head: UnsafeRawBufferPointer(blob))
      batch.append(
        SealedBatch.Row(
          fields: fields, position: position, blindIndex: blindIndex, title: title, head: head, bodyTag: bodyTag,
          body: body, isBodyInRecord: isBodyInRecord(textCount: data.textCount),
          element: try context.set.element(of: element)))
    }
  }

  /// Returns whether a body is stored in its record, which depends only on its frame's length.
  package func isBodyInRecord(textCount: Int) -> Bool {
    Frame.byteCount(around: textCount, minimum: Frame.standardMinimum, isPadded: keys.session.isPadded)
      <= StoreFormat.maximumBodyInRecord
  }

  private func context(of fields: RowFields) throws(StoreError) -> EpochContext {
    guard let context = keys.context(of: fields.epoch) else { throw .damagedStore("epoch \(fields.epoch) has no key") }
    return context
  }

  private func check(_ content: Content, textCount: Int) throws(StoreError) {
    guard textCount <= StoreFormat.maximumText else {
      throw StoreError(.tooLarge, "a text has at most 256 MiB")
    }
    if let title = content.title {
      guard title.count <= StoreFormat.maximumTitle else {
        throw StoreError(.tooLarge, "a title has at most 64 KiB")
      }
      guard UTF8Validity.isValid(title) else { throw StoreError(.notText, "a title is not UTF-8") }
    }
    guard HeadData.isObject(content.attributes) else {
      throw StoreError(.invalidArgument, "attributes are no JSON object")
    }
    if let key = content.key {
      guard (1...DocumentKey.maximumByteCount).contains(key.count) else {
        throw StoreError(.tooLarge, "a key has 1 to \(DocumentKey.maximumByteCount) bytes")
      }
    }
  }

  /// Writes the codec, length and trailing zeros. The caller writes the bytes between them.
  private static func write(frame: UnsafeMutableRawBufferPointer, count: Int) {
    Frame.writeHeader(count, to: frame)
    let end = Frame.headerCount + count
    if end < frame.count {
      UnsafeMutableRawBufferPointer(rebasing: frame[end...]).initializeMemory(as: UInt8.self, repeating: 0)
    }
  }
}
