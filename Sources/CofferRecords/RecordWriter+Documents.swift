package import CofferDocuments
internal import CofferSealing

// Single documents, which are sealed into the writer's batch and then written by ``RecordWriter``.

extension RecordWriter {
  /// Seals and inserts a document.
  ///
  /// - Parameters:
  ///   - collection: The collection, which is inserted first if it's new.
  ///   - now: The default for both dates.
  ///   - stamps: The stamps of a document received from a copy, or `nil` for a new document.
  package func insert(
    _ document: Document, id: Int64, in collection: CollectionRecord, isNew: Bool, position: DocumentPosition,
    now: Timestamp,
    stamps: DocumentStamps? = nil
  ) throws(StoreError) {
    try willWrite()
    defer { batch.removeAll() }
    let stamps = if let stamps { stamps } else { DocumentStamps(born: revision, uid: try keys.newUID()) }
    let fields = RowFields(
      id: id, collection: collection.id, epoch: keys.active.epoch, revision: revision,
      parent: document.parent?.rawValue, flags: document.rowFlags)
    try seal(
      document, fields, at: position, blindIndex: try blindIndex(of: document.key, in: collection),
      created: document.created ?? now, modified: document.modified ?? now,
      stamps: stamps, extensionBytes: [])
    if isNew { try insertCollection(collection) }
    try insert(batch.rows[0], of: batch)
  }

  /// Replaces the stored document with a changed document. Keeps the sealed body if the text, keys and collection are
  /// unchanged.
  ///
  /// - Parameters:
  ///   - collection: The document's new collection.
  ///   - position: The new position, or `nil` to keep it. Required for another collection.
  ///   - stamps: The stamps of a change received from a copy, or `nil` for this transaction's change.
  package func replace(
    _ old: StoredDocument, with new: Document, in collection: CollectionRecord,
    movedTo position: DocumentPosition? = nil,
    stamps given: DocumentStamps? = nil
  ) throws(StoreError) {
    try willWrite()
    defer { batch.removeAll() }
    let active = keys.active.epoch
    let fields = RowFields(
      id: old.fields.id, collection: collection.id, epoch: active, revision: revision,
      parent: new.parent?.rawValue, flags: new.rowFlags)
    let staysThere = collection.id == old.fields.collection
    let keepsEpoch = old.fields.epoch == active
    var kind = old.document.changes(to: new)
    if position != nil { kind.insert(.place) }
    let stamps = given ?? stamps(old.stamps, changedBy: kind)
    let index =
      keepsEpoch && staysThere && new.key == old.document.key
      ? old.blindIndex : try blindIndex(of: new.key, in: collection)
    try seal(
      new, fields, at: position ?? old.header.position, blindIndex: index, created: new.created ?? old.header.created,
      modified: new.modified ?? old.header.modified, stamps: stamps,
      textDigest: kind.contains(.text) ? nil : old.textDigest,
      extensionBytes: extensionBytes(of: old, changedBy: kind, to: new, staysThere: staysThere),
      keepingBody: keepsEpoch && staysThere && !kind.contains(.text) ? old.bodyTag : nil)
    var columns: RecordColumns = staysThere ? [] : .collection
    if position != nil { columns.insert(.position) }
    if kind.contains(.parent) { columns.insert(.parent) }
    if index != old.blindIndex { columns.insert(.blindIndex) }
    // During a rekey, the title may still be stored according to the old mode.
    if !keepsEpoch || kind.contains(.head) { columns.insert(.title) }
    let former = Former(
      old.fields, old.element, isBodyInRecord: sealer.isBodyInRecord(textCount: old.header.byteCount))
    try replace(former, with: batch.rows[0], of: batch, changing: columns, as: kind)
  }

  /// Returns the entries of later versions that stay in a changed document.
  private func extensionBytes(
    of old: StoredDocument, changedBy kind: ChangeLog.Kind, to new: Document, staysThere: Bool
  ) -> [UInt8] {
    var changed: ExtensionPart.Parts = []
    if kind.contains(.text) { changed.insert(.text) }
    if !Document.haveSameTitle(old.document, new) { changed.insert(.title) }
    if new.key != old.document.key { changed.insert(.key) }
    if new.attributes != old.document.attributes { changed.insert(.attributes) }
    if !kind.isDisjoint(with: [.place, .parent]) || !staysThere { changed.insert(.place) }
    return old.extensionBytes.withUnsafeBytes { bytes in
      ExtensionPart(bytes, of: .head)?.bytes(withoutThoseOf: changed) ?? []
    }
  }

  private func stamps(_ old: DocumentStamps, changedBy kind: ChangeLog.Kind) -> DocumentStamps {
    var stamps = old
    if !kind.isDisjoint(with: [.text, .head]) { stamps.edited = revision }
    if !kind.isDisjoint(with: [.place, .parent]) { stamps.placed = revision }
    return stamps
  }

  /// Re-encrypts a row's head after `change`, and also its text if its epoch is older than the active epoch.
  ///
  /// - Parameters:
  ///   - columns: The columns that `change` modifies.
  ///   - kind: The change for readers, which is empty if only the position or the blind index was adjusted.
  package func rewrite(
    _ id: DocumentID, changing columns: RecordColumns, as kind: ChangeLog.Kind,
    _ change: (inout RecordSealer.Content, inout RowFields) throws(StoreError) -> Void
  ) throws(StoreError) {
    try willWrite()
    defer {
      reader.reset()
      batch.removeAll()
    }
    var row = try reader.row(id, withBody: false, within: limits)
    let keepsEpoch = row.fields.epoch == keys.active.epoch
    if !keepsEpoch { row = try reader.row(id, withBody: true, within: limits) }
    let head = try reader.opener.openHead(row)
    let former = Former(
      row.fields, try reader.opener.element(of: row),
      isBodyInRecord: sealer.isBodyInRecord(textCount: head.textCount))
    var fields = row.fields
    var content = RecordSealer.Content(
      row, head, blindIndex: row.blindIndex.map { Array($0) }, changing: ExtensionPart.Parts(kind))
    fields.revision = revision
    fields.epoch = keys.active.epoch
    content.stamps = stamps(content.stamps, changedBy: kind)
    if !keepsEpoch {
      content.blindIndex = try keys.blindIndex(
        of: head.key, in: fields.collection, of: try collections.records(within: limits))
    }
    try change(&content, &fields)
    if keepsEpoch {
      try sealer.sealHead(fields, content, textCount: head.textCount, bodyTag: row.bodyTag, into: batch)
    } else {
      try sealer.seal(fields, content, text: try reader.opener.openBody(row, head), into: batch)
    }
    reader.reset()
    // The blind index and title depend on the epoch.
    try replace(
      former, with: batch.rows[0], of: batch,
      changing: keepsEpoch ? columns : columns.union([.blindIndex, .title]), as: kind)
  }

  /// Re-encrypts the head at another position.
  ///
  /// - Parameter collection: The document's collection according to an index, which must match the row.
  package func move(
    _ id: DocumentID, toPosition position: DocumentPosition, in collection: UInt32? = nil
  ) throws(StoreError) {
    try rewrite(id, changing: .position, as: .place) { content, fields throws(StoreError) in
      try fields.require(collection)
      content.position = position
    }
  }

  package func setParent(of id: DocumentID, to parent: Int64?) throws(StoreError) {
    try rewrite(id, changing: .parent, as: .parent) { _, fields throws(StoreError) in fields.parent = parent }
  }

  /// Returns a key's blind index under the active epoch.
  package func blindIndex(of key: DocumentKey?, in collection: CollectionRecord) throws(StoreError) -> [UInt8]? {
    guard let key else { return nil }
    return try keys.blindIndex(of: key, in: collection, under: keys.active)
  }

  /// Seals a document into the writer's batch, or only its head if `kept` is an existing body's tag.
  ///
  /// - Parameter textDigest: The stored digest of an unchanged text.
  private func seal(
    _ document: Document, _ fields: RowFields, at position: DocumentPosition, blindIndex: [UInt8]?,
    created: Timestamp, modified: Timestamp, stamps: DocumentStamps, textDigest: TextDigest? = nil,
    extensionBytes: [UInt8], keepingBody kept: [UInt8]? = nil
  ) throws(StoreError) {
    if let fault = document.attributes.fault { throw .refusedAttributes(fault) }
    guard created.isStorable, modified.isStorable else { throw .refusedDate }
    let title = document.title.map { Array($0.utf8) }
    var text = document.text
    let result: Result<Void, StoreError> = text.withUTF8 { text in
      Result { () throws(StoreError) in
        try withBytes(title) { title throws(StoreError) in
          try withBytes(document.key?.bytes) { key throws(StoreError) in
            try document.attributes.canonicalJSON.withBytes { attributes throws(StoreError) in
              let content = RecordSealer.Content(
                position: position, title: title, key: key, blindIndex: blindIndex, attributes: attributes,
                created: created.millisecondsSince1970, modified: modified.millisecondsSince1970, stamps: stamps,
                textDigest: textDigest, extensionBytes: extensionBytes)
              guard let kept else {
                return try sealer.seal(fields, content, text: UnsafeRawBufferPointer(text), into: batch)
              }
              try kept.withBytes { tag throws(StoreError) in
                try sealer.sealHead(fields, content, textCount: text.count, bodyTag: tag, into: batch)
              }
            }
          }
        }
      }
    }
    try result.get()
  }

  private func withBytes(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) throws(StoreError) -> Void)
    throws(StoreError)
  {
    guard let bytes else { return try body(nil) }
    try bytes.withBytes { bytes throws(StoreError) in try body(bytes) }
  }
}

extension Document {
  /// Returns the parts that differ in a changed document.
  fileprivate func changes(to new: Document) -> ChangeLog.Kind {
    var kind: ChangeLog.Kind = []
    if !new.text.isIdentical(to: text) { kind.insert(.text) }
    if new.parent != parent { kind.insert(.parent) }
    let isSameHead =
      Self.haveSameTitle(self, new) && new.key == key && new.attributes == attributes
      && (new.isJSON == isJSON || kind.contains(.text))
    if !isSameHead { kind.insert(.head) }
    let keepsDates =
      (new.created == nil || new.created == created) && (new.modified == nil || new.modified == modified)
    if !keepsDates { kind.insert(.dates) }
    return kind
  }

  fileprivate static func haveSameTitle(_ one: Document, _ other: Document) -> Bool {
    other.title == one.title && (one.title ?? "").isIdentical(to: other.title ?? "")
  }

  fileprivate var rowFlags: UInt32 { StoreFormat.RowFlags(isJSON: isJSON).rawValue }
}

extension ExtensionPart.Parts {
  /// The parts that a change without a new document can modify.
  fileprivate init(_ kind: ChangeLog.Kind) {
    self = kind.contains(.head) ? [.title, .key, .attributes] : []
    if !kind.isDisjoint(with: [.place, .parent]) { insert(.place) }
  }
}
