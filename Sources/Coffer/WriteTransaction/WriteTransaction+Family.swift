internal import CofferEngine
internal import CofferRecords

extension WriteTransaction {
  /// Changes or removes a document's parent, which must be in the same collection. Re-encrypts only the head.
  ///
  /// - Throws: `noSuchDocument`, or `invalidArgument` for a parent in another collection, the document itself, or its
  ///   descendant.
  public func setParent(of id: DocumentID, to parent: DocumentID?) throws(StoreError) {
    let header = try header(of: id)
    guard header.parent != parent else { return }
    try transaction.editor.requireParent(parent, of: id.rawValue, isNew: false, in: header.collection.rawValue)
    try transaction.writer.setParent(of: id, to: parent?.rawValue)
  }

  /// Changes or removes a document's key. Re-encrypts only the head.
  ///
  /// - Throws: `noSuchDocument`, `duplicateKey`, or `tooLarge` for a key that's empty or longer than 1 KiB. `damaged`.
  ///   If another document with the former key is damaged, the transaction must be rolled back, which happens when the
  ///   error leaves `write`.
  public func setKey(of id: DocumentID, to key: DocumentKey?) throws(StoreError) {
    let header = try header(of: id)
    guard header.key != key else { return }
    let record = try transaction.requireCollection(of: header)
    try transaction.editor.requireUnusedKey(key, in: record, by: id)
    let index = try transaction.writer.blindIndex(of: key, in: record)
    let writer = try transaction.writer
    if let key {
      try key.bytes.withBytes { bytes throws(StoreError) in
        try writer.rewrite(id, changing: .blindIndex, .key, as: .head) { content, fields throws(StoreError) in
          content.key = bytes
          content.blindIndex = index
          fields.isKeyHeldElsewhere = false
        }
      }
    } else {
      try writer.rewrite(id, changing: .blindIndex, .key, as: .head) { content, _ throws(StoreError) in
        content.key = nil
        content.blindIndex = nil
      }
    }
    try writer.release(header.key, in: record.id)
  }
}
