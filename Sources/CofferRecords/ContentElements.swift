internal import CofferDocuments
package import CofferSealing

/// Computes the elements of the content hash, which don't depend on a store's keys, IDs and dots (FORMAT, "Content
/// hash"). Use it on one thread at a time.
package final class ContentElements {
  private let key: HMACKey

  /// - Parameter session: The keys with the family key.
  package init(_ session: SessionKeys) throws(StoreError) {
    key = try translatingErrors { () throws(SealingError) in
      try HMACKey(try hkdf(session.keyring.family, salt: [], info: Array("coffer3/content".utf8)))
    }
  }

  /// Returns a document's element.
  ///
  /// - Parameters:
  ///   - collection: The identity of its collection.
  ///   - attachments: The parts of its attachments, sorted by their identities.
  package func element(
    of row: RecordRow, _ head: HeadData, in collection: UniqueID, attachments: [[UInt8]]
  ) throws(StoreError) -> SetElement {
    var encoding = PreAuthenticationEncoding("coffer3/content").adding(head.uid.bytes).adding(head.textDigest.bytes)
      .adding(row.fields.flags & StoreFormat.RowFlags.json.rawValue).adding(Self.optional(head.title))
      .adding(Self.optional(head.key)).adding(Array(head.attributes)).adding(collection.bytes)
      .adding(head.parent.map { [1] + $0.bytes } ?? [0]).adding(UInt64(bitPattern: head.created))
      .adding(UInt64(bitPattern: head.modified))
    for attachment in attachments { encoding = encoding.adding(attachment) }
    return try element(encoding.bytes)
  }

  package func element(of collection: CollectionRecord) throws(StoreError) -> SetElement {
    try element(
      PreAuthenticationEncoding("coffer3/content-collection").adding(collection.uid.bytes)
        .adding(Array(collection.storedName.utf8)).adding(collection.settings.canonicalJSON).bytes)
  }

  /// Returns the part of its document's element that an attachment has.
  package static func part(of attachment: AttachmentRecord) -> [UInt8] {
    PreAuthenticationEncoding().adding(attachment.uid.bytes).adding(Array(attachment.name.utf8))
      .adding(Array(attachment.mediaType.utf8)).adding(UInt64(bitPattern: attachment.date))
      .adding(attachment.digest.bytes).bytes
  }

  private func element(_ bytes: [UInt8]) throws(StoreError) -> SetElement {
    try translatingErrors { () throws(SealingError) in
      try bytes.withBytes { bytes throws(SealingError) in try key.element(of: bytes) }
    }
  }

  private static func optional(_ bytes: UnsafeRawBufferPointer?) -> [UInt8] {
    guard let bytes else { return [0] }
    return [1] + bytes
  }
}
