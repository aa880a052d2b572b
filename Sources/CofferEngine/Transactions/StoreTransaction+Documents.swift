internal import CofferRecords
internal import CofferSealing

// Reading single documents. ``DocumentEditor`` writes them.

extension StoreTransaction {
  package func header(of id: DocumentID) throws(StoreError) -> DocumentHeader {
    notes?.note(id)
    return try counted(reading { reader throws(StoreError) in try reader.header(id, within: limits) })
  }

  package func text(of id: DocumentID) throws(StoreError) -> String {
    try withUncounted(id) { opened throws(StoreError) in opened.text }
  }

  /// Returns whether the document exists. Opens the head, so forged rows don't count.
  package func exists(_ id: DocumentID) throws(StoreError) -> Bool {
    notes?.note(id)
    do throws(StoreError) {
      return try reading { reader throws(StoreError) in
        _ = try reader.opener.openHead(
          try reader.row(id, withBody: false, within: limits), acceptsNewer: true)
        return true
      }
    } catch {
      if error.code == .noSuchDocument { return false }
      throw error
    }
  }

  package func document(_ id: DocumentID) throws(StoreError) -> Document {
    try withUncounted(id) { opened throws(StoreError) in Document(opened) }
  }

  /// Calls `body` with a document, for inlinable code that handles generic results in the app.
  @usableFromInline
  package func visit(_ id: DocumentID, _ body: (OpenedDocument) -> Void) throws(StoreError) {
    // Skip the generic function for cached texts, because its closure costs as much as the lookup.
    switch try cached(id) {
    case .document(let cached): body(try counted(cached.opened))
    case .missing(let room): try open(id, room: room) { opened throws(StoreError) in body(try counted(opened)) }
    }
  }

  /// Calls `body` with a document, whose attachments are counted.
  package func withOpened<R>(_ id: DocumentID, _ body: (OpenedDocument) throws(StoreError) -> R) throws(StoreError) -> R
  {
    try withUncounted(id) { opened throws(StoreError) in try body(counted(opened)) }
  }

  /// Calls `body` with a document, whose attachments aren't counted.
  private func withUncounted<R>(
    _ id: DocumentID, _ body: (OpenedDocument) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    switch try cached(id) {
    case .document(let cached): return try body(cached.opened)
    case .missing(let room): return try open(id, room: room, body)
    }
  }

  /// Calls `body` with the document with a key and its attachment count, or returns `nil` if the document is missing.
  package func withOpened<R>(
    forKey key: DocumentKey, in collection: CollectionRecord, _ body: (OpenedDocument) throws(StoreError) -> R
  ) throws(StoreError) -> R? {
    try reading { reader throws(StoreError) in
      guard let (row, head) = try reader.row(forKey: key, in: collection, withBody: true, within: limits) else {
        return nil
      }
      switch try cached(DocumentID(row.fields.id)) {
      case .document(let cached): return try body(counted(cached.opened))
      case .missing(let room):
        let opened = OpenedDocument(header: DocumentHeader(row, head), utf8: try reader.opener.openBody(row, head))
        if opened.utf8.count <= room { keep(opened) }
        return try body(counted(opened))
      }
    }
  }

  /// Opens a document that isn't cached, and caches it if its text has at most `room` bytes.
  private func open<R>(
    _ id: DocumentID, room: Int, _ body: (OpenedDocument) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try reading { reader throws(StoreError) in
      let opened = try reader.document(id, within: limits)
      if opened.utf8.count <= room { keep(opened) }
      return try body(opened)
    }
  }

  /// - Parameters:
  ///   - acceptsNewer: Whether to return a document that a later version wrote.
  ///   - provesText: Whether the text will be re-encrypted for another document or store, so its digest must match the
  ///     head.
  package func storedDocument(
    _ id: DocumentID, acceptingNewer acceptsNewer: Bool = false, provingText provesText: Bool = false
  ) throws(StoreError) -> StoredDocument {
    try reading { reader throws(StoreError) in
      try reader.storedDocument(id, within: limits, acceptingNewer: acceptsNewer, provingText: provesText)
    }
  }

  /// Returns a document to read as a value. Its attachments are counted, because a migration can use the header.
  package func storedValue(_ id: DocumentID) throws(StoreError) -> StoredDocument {
    var stored = try storedDocument(id)
    stored.header = try counted(stored.header)
    return stored
  }

  /// Returns a document, or throws `alreadyExists` if it belongs to another collection.
  package func storedDocument(_ id: DocumentID, in collection: DocumentCollection) throws(StoreError) -> StoredDocument
  {
    let stored = try storedDocument(id)
    guard try self.collection(named: collection.name)?.id == stored.fields.collection else {
      throw StoreError(.alreadyExists, "document \(id) is in another collection", documentID: id)
    }
    return stored
  }

  /// Returns whether a row with that ID exists, even if it's damaged.
  package func hasRow(_ id: DocumentID) throws(StoreError) -> Bool {
    try reading { reader throws(StoreError) in try reader.hasRow(id) }
  }

  /// Returns the document with that key, searching all live epochs and checking the key in the document's head.
  package func id(forKey key: DocumentKey, in collection: CollectionRecord) throws(StoreError) -> DocumentID? {
    try reading { reader throws(StoreError) in try reader.id(forKey: key, in: collection, within: limits) }
  }

  /// Returns the unverified columns of a row, or `nil` if the row doesn't exist.
  package func unverifiedFields(of id: DocumentID) throws(StoreError) -> RowFields? {
    do throws(StoreError) {
      return try reading { reader throws(StoreError) in
        try reader.row(id, withBody: false, within: limits).fields
      }
    } catch {
      guard error.code == .noSuchDocument else { throw error }
      return nil
    }
  }
}
