package import CofferDocuments
package import CofferSealing
internal import CofferText

/// Opens rows. The head authenticates the whole row, and the body authenticates the text. It reverses RecordSealer.
///
/// Use it on one thread at a time. Results point to its memory and are valid until it opens the next row.
package final class RecordOpener {
  package let keys: RowKeys
  private let headMemory = ScratchMemory()
  private let bodyMemory = ScratchMemory()
  private let checksBounds: Bool

  /// - Parameter checksBounds: Whether to reject rows that their epoch couldn't have sealed. Salvage accepts them.
  package init(_ keys: RowKeys, checksBounds: Bool = true) {
    self.keys = keys
    self.checksBounds = checksBounds
  }

  @inline(__always)
  private func context(of row: RecordRow) throws(StoreError) -> EpochContext {
    guard let context = keys.context(of: row.fields.epoch) else {
      throw .damagedDocument(row.fields.id, "its epoch has no key")
    }
    return context
  }

  /// Rejects a row that owners of old keys could have sealed after their replacement (FORMAT, "Closed epochs").
  ///
  /// - Throws: `damaged`.
  @inline(__always)
  package func requireBounds(_ row: RecordRow) throws(StoreError) {
    guard try context(of: row).allows(row.fields), !row.isBehindCursor else {
      throw .damagedDocument(row.fields.id, "it is under old keys, where only new ones can be")
    }
  }

  /// - Parameters:
  ///   - memory: The memory for the head, to which the result points, or `nil` to use this opener's memory.
  ///   - acceptsNewer: Whether to return the head of a document that a later version wrote, whose meaning is unknown.
  /// - Throws: `damaged` if the row was changed. `otherFormat` for a document of a later version.
  package func openHead(
    _ row: RecordRow, in memory: UnsafeMutableRawBufferPointer? = nil, acceptsNewer: Bool = false
  ) throws(StoreError) -> HeadData {
    let id = row.fields.id
    let context = try context(of: row)
    if checksBounds { try requireBounds(row) }
    // Compare the row first, because opening a copied row overwrites its seal.
    if let proof = keys.proof, try !proof.documents.contains(id, element(of: row)) {
      throw .changedSinceProof("document \(id)", documentID: DocumentID(id))
    }
    let mode = keys.session.titles
    let additional = keys.binding.head(
      row.fields, position: row.position, blindIndex: row.blindIndex, bodyTag: row.bodyTag, title: row.title)
    let frame = memory ?? headMemory.room(row.head.count - XAESKey.overhead)
    let head: HeadData?
    do throws(SealingError) {
      try context.head.open(row.head, authenticating: additional, plaintext: frame)
      let bytes = UnsafeRawBufferPointer(frame)
      let range = try Frame.dataRange(
        of: bytes, minimum: Frame.sealedTitleMinimum, orMinimum: Frame.standardMinimum,
        isPadded: keys.session.isPadded)
      head = HeadData(UnsafeRawBufferPointer(rebasing: bytes[range]))
    } catch {
      throw .unopened(error, .damagedDocument(id, "its head is not the one of this row"))
    }
    if let head, head.extensionPart.isNewer, !acceptsNewer { throw .newerDocument(id) }
    guard var head, (head.key == nil) == (row.blindIndex == nil),
      head.key != nil || !row.fields.isKeyHeldElsewhere
    else {
      throw .damagedDocument(id, "its head is invalid")
    }
    if let title = row.title {
      guard head.title == nil, UTF8Validity.isValid(title) else {
        throw .damagedDocument(id, "its title is in the wrong place or is no text")
      }
    }
    let isInPlace = (row.title == nil || mode == .clear) && (head.title == nil || mode == .sealed)
    guard isInPlace || row.isBelowTarget else {
      throw .damagedDocument(id, "its title is in a place where this store keeps none")
    }
    head.title = head.title ?? row.title
    return head
  }

  /// - Parameters:
  ///   - memory: The memory for the text, to which the result points, or `nil` to use this opener's memory.
  ///   - comparesDigest: Whether to compare the text's digest with the head's, or `nil` to compare it where former key
  ///     holders may know the row's keys, and in a release, because its present key holders aren't trusted.
  /// - Throws: `damaged` if the body is missing or doesn't belong to this document.
  package func openBody(
    _ row: RecordRow, _ head: HeadData, in memory: UnsafeMutableRawBufferPointer? = nil, comparesDigest: Bool? = nil
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    let id = row.fields.id
    guard let ciphertext = row.body else { throw .damagedDocument(id, "its text is missing") }
    let context = try context(of: row)
    let expected = Frame.byteCount(
      around: head.textCount, minimum: Frame.standardMinimum, isPadded: keys.session.isPadded)
    guard ciphertext.count == expected else { throw .damagedDocument(id, "its text has another length") }
    guard row.hasBodyInRecord == (expected <= StoreFormat.maximumBodyInRecord) else {
      throw .damagedDocument(id, "its text is in the wrong place")
    }
    let additional = keys.binding.body(id: id, collection: row.fields.collection, epoch: row.fields.epoch)
    let frame = memory ?? ownMemory(expected)
    do throws(SealingError) {
      try context.body.open(
        ciphertext, authenticating: additional,
        nonce: UnsafeRawBufferPointer(rebasing: row.bodyTag[..<XAESKey.nonceCount]),
        tag: UnsafeRawBufferPointer(rebasing: row.bodyTag[XAESKey.nonceCount...]), plaintext: frame)
      let bytes = UnsafeRawBufferPointer(frame)
      let range = try Frame.dataRange(
        of: bytes, minimum: Frame.standardMinimum, isPadded: keys.session.isPadded)
      let text = UnsafeRawBufferPointer(rebasing: bytes[range])
      guard text.count == head.textCount, UTF8Validity.isValid(text) else {
        throw SealingError(.malformed, "another length")
      }
      if comparesDigest ?? context.isClosed || keys.proof != nil, try keys.hasher.digest(of: text) != head.textDigest {
        throw SealingError(.malformed, "another digest")
      }
      return text
    } catch {
      throw .unopened(error, .damagedDocument(id, "its text is not the one that was written"))
    }
  }

  private func ownMemory(_ count: Int) -> UnsafeMutableRawBufferPointer {
    bodyMemory.shrink(above: max(8 << 20, count))
    return bodyMemory.room(count)
  }

  /// Returns the row's set hash element, without opening the row or checking its bounds.
  package func element(of row: RecordRow) throws(StoreError) -> SetElement {
    let context = try context(of: row)
    let element = keys.binding.element(
      row.fields, position: row.position, blindIndex: row.blindIndex, bodyTag: row.bodyTag, title: row.title,
      head: row.head)
    return try translatingErrors { () throws(SealingError) in try context.set.element(of: element) }
  }
}

extension DocumentHeader {
  package init(_ row: RecordRow, _ head: HeadData) {
    self.init(
      id: DocumentID(row.fields.id), collection: CollectionID(row.fields.collection),
      position: DocumentPosition(verified: row.position), parent: row.fields.parent.map { DocumentID($0) },
      title: head.title.map { String(decoding: $0, as: UTF8.self) },
      key: row.fields.isKeyHeldElsewhere ? nil : head.key.map { DocumentKey(bytes: $0) },
      attributes: head.attributes.isEmpty ? Attributes() : Attributes(uncheckedCanonicalJSON: head.attributes),
      created: Timestamp(millisecondsSince1970: head.created),
      modified: Timestamp(millisecondsSince1970: head.modified), byteCount: head.textCount,
      isJSON: row.fields.isJSON)
  }
}

extension DocumentPosition {
  /// Creates the position of a row, which has checked its length.
  package init(verified bytes: UnsafeRawBufferPointer) {
    guard let position = DocumentPosition(copying: bytes) else {
      preconditionFailure("internal error: a row has a position of another length")
    }
    self = position
  }
}
