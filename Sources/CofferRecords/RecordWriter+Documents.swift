package import CofferDocuments
internal import CofferSealing

// Single documents, which are sealed into the writer's batch and then written by ``RecordWriter``.

extension RecordWriter {
  /// Seals and inserts a document.
  ///
  /// - Parameters:
  ///   - collection: The collection, which is inserted first if it's new.
  ///   - now: The default for both dates.
  ///   - history: The identity and dots of a document received from a copy, or `nil` for a new document.
  package func insert(
    _ document: Document, id: Int64, in collection: CollectionRecord, isNew: Bool, position: DocumentPosition,
    now: Timestamp, history: DocumentHistory? = nil, extensionBytes: [UInt8] = [], isKeyHeldElsewhere: Bool = false
  ) throws(StoreError) {
    try willWrite()
    defer { batch.removeAll() }
    let history =
      if let history { history } else {
        DocumentHistory(
          uid: try keys.newUID(), parent: try uid(ofParent: document.parent?.rawValue),
          dots: DocumentDots.bytes(ofNew: dot))
      }
    // A row can't refer to a parent unless its head does.
    let fields = RowFields(
      id: id, collection: collection.id, epoch: keys.active.epoch, revision: revision,
      parent: history.parent == nil ? nil : document.parent?.rawValue,
      flags: document.rowFlags(isKeyHeldElsewhere: isKeyHeldElsewhere))
    try seal(
      document, key: document.key, fields, at: position, blindIndex: try blindIndex(of: document.key, in: collection),
      created: document.created ?? now, modified: document.modified ?? now, history: history,
      extensionBytes: extensionBytes)
    if !isKeyHeldElsewhere {
      batch.describeLast(
        record: 0, olderBlindIndexes: try keys.olderBlindIndexes(of: document.key, in: collection))
    }
    if isNew {
      try requireRoom(for: fields)
      try insertCollection(collection)
    }
    try insert(batch.rows[0], of: batch)
  }

  /// Replaces the stored document with a changed document. Keeps the sealed body if the text, keys and collection are
  /// unchanged.
  ///
  /// - Parameters:
  ///   - collection: The document's new collection.
  ///   - position: The new position, or `nil` to keep it. Required for another collection.
  ///   - history: The identity and dots of a change received from a copy, or `nil` for this transaction's change.
  ///   - isKeyHeldElsewhere: Whether another document holds the key, or `nil` if that doesn't change.
  package func replace(
    _ old: StoredDocument, with new: Document, in collection: CollectionRecord,
    movedTo position: DocumentPosition? = nil, history given: DocumentHistory? = nil,
    extensionBytes givenEntries: [UInt8]? = nil, isKeyHeldElsewhere: Bool? = nil
  ) throws(StoreError) {
    try willWrite()
    defer { batch.removeAll() }
    let active = keys.active.epoch
    var fields = RowFields(
      id: old.fields.id, collection: collection.id, epoch: active, revision: revision,
      parent: new.parent?.rawValue, flags: new.rowFlags())
    let staysThere = collection.id == old.fields.collection
    let keepsEpoch = old.fields.epoch == active
    // If another document holds the key, this document keeps the key until it gets another key.
    let key = given == nil && new.key == old.document.key ? old.storedKey : new.key
    fields.isKeyHeldElsewhere = isKeyHeldElsewhere ?? (old.fields.isKeyHeldElsewhere && new.key == nil)
    var kind = old.document.changes(to: new)
    if position != nil { kind.insert(.place) }
    if given != nil || !kind.isDisjoint(with: [.place, .parent]) { try noteCutParent(above: old.fields) }
    // Readers follow the dots from a merge, even if values are unchanged.
    if given != nil, kind.isEmpty { kind = .head }
    var changed = old.changedParts(by: kind, to: new, staysThere: staysThere)
    // Titles can't change in a store without titles.
    if keys.session.titles == .none { changed.remove(.title) }
    let history =
      if let given { given } else { try history(of: old, changing: changed, by: kind, to: new) }
    if history.parent == nil { fields.parent = nil }
    let index =
      keepsEpoch && staysThere && key == old.storedKey ? old.blindIndex : try blindIndex(of: key, in: collection)
    try seal(
      new, key: key, fields, at: position ?? old.header.position, blindIndex: index,
      created: new.created ?? old.header.created,
      modified: new.modified ?? old.header.modified, history: history,
      textDigest: kind.contains(.text) ? nil : old.textDigest,
      extensionBytes: givenEntries ?? old.extensionBytes(without: changed, to: new),
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
    // Other documents' rows follow.
    batch.removeAll()
    if !settlesParentsLater { try settleParents() }
    guard key != old.storedKey || !staysThere else { return }
    if !old.fields.isKeyHeldElsewhere { try release(old.storedKey, in: old.fields.collection) }
    if fields.isKeyHeldElsewhere, isKeyHeldElsewhere == nil { try release(key, in: collection.id) }
  }

  /// Returns the identity and dots of a document after this transaction's change.
  private func history(
    of old: StoredDocument, changing parts: DocumentDots.Parts, by kind: ChangeLog.Kind, to new: Document
  ) throws(StoreError) -> DocumentHistory {
    var history = old.history
    if kind.contains(.parent) { history.parent = try uid(ofParent: new.parent?.rawValue) }
    let names = new.attributes.changedNames(since: old.document.attributes)
    history.change { $0.change(parts, names: names, of: new.attributes, to: dot) }
    return history
  }

  /// Re-encrypts a row's head after `change`, and also its text if its epoch is older than the active epoch.
  ///
  /// - Parameters:
  ///   - columns: The columns that `change` modifies.
  ///   - parts: The parts that `change` modifies, or an empty set if only the blind index was recomputed.
  ///   - kind: The change for readers.
  package func rewrite(
    _ id: DocumentID, changing columns: RecordColumns, _ parts: DocumentDots.Parts, as kind: ChangeLog.Kind,
    acceptingNewer acceptsNewer: Bool = false,
    _ change: (inout RecordSealer.Content, inout RowFields) throws(StoreError) -> Void
  ) throws(StoreError) {
    try willWrite()
    defer {
      reader.reset()
      batch.removeAll()
    }
    if parts.contains(.place) {
      try noteCutParent(above: try reader.row(id, withBody: false, within: limits).fields)
    }
    var row = try reader.row(id, withBody: false, within: limits)
    let keepsEpoch = row.fields.epoch == keys.active.epoch
    if !keepsEpoch { row = try reader.row(id, withBody: true, within: limits) }
    let head = try reader.opener.openHead(row, acceptsNewer: acceptsNewer)
    let former = Former(
      row.fields, try reader.opener.element(of: row),
      isBodyInRecord: sealer.isBodyInRecord(textCount: head.textCount))
    var fields = row.fields
    var content = RecordSealer.Content(
      row, head, blindIndex: row.blindIndex.map { Array($0) }, changing: ExtensionPart.Parts(parts))
    fields.revision = revision
    fields.epoch = keys.active.epoch
    if !parts.isEmpty { content.history.change { $0.change(parts, to: dot) } }
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
    guard parts.contains(.place), !settlesParentsLater else { return }
    // Other documents' rows follow.
    batch.removeAll()
    try settleParents()
  }

  /// Re-encrypts the head at another position.
  ///
  /// - Parameter collection: The document's collection according to an index, which must match the row.
  package func move(
    _ id: DocumentID, toPosition position: DocumentPosition, in collection: UInt32? = nil
  ) throws(StoreError) {
    try rewrite(id, changing: .position, .place, as: .place) { content, fields throws(StoreError) in
      try fields.require(collection)
      content.position = position
    }
  }

  package func setParent(of id: DocumentID, to parent: Int64?) throws(StoreError) {
    let uid = try uid(ofParent: parent)
    try rewrite(id, changing: .parent, .place, as: .parent) { content, fields throws(StoreError) in
      fields.parent = parent
      content.history.parent = uid
    }
  }

  /// Sets only the row's parent. The head's parent is unchanged.
  package func setParentRow(of id: DocumentID, to parent: Int64?) throws(StoreError) {
    try rewrite(id, changing: .parent, [], as: .parent, acceptingNewer: true) { _, fields throws(StoreError) in
      fields.parent = parent
    }
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
    _ document: Document, key: DocumentKey?, _ fields: RowFields, at position: DocumentPosition, blindIndex: [UInt8]?,
    created: Timestamp, modified: Timestamp, history: DocumentHistory, textDigest: TextDigest? = nil,
    extensionBytes: [UInt8], keepingBody kept: [UInt8]? = nil
  ) throws(StoreError) {
    if let fault = document.attributes.fault { throw .refusedAttributes(fault) }
    guard created.isStorable, modified.isStorable else { throw .refusedDate }
    let title = document.title.map { Array($0.utf8) }
    var text = document.text
    let result: Result<Void, StoreError> = text.withUTF8 { text in
      Result { () throws(StoreError) in
        try withBytes(title) { title throws(StoreError) in
          try withBytes(key?.bytes) { key throws(StoreError) in
            try document.attributes.canonicalJSON.withBytes { attributes throws(StoreError) in
              let content = RecordSealer.Content(
                position: position, title: title, key: key, blindIndex: blindIndex, attributes: attributes,
                created: created.millisecondsSince1970, modified: modified.millisecondsSince1970, history: history,
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

  fileprivate func rowFlags(isKeyHeldElsewhere: Bool = false) -> UInt32 {
    StoreFormat.RowFlags(isJSON: isJSON, isKeyHeldElsewhere: isKeyHeldElsewhere).rawValue
  }
}

extension StoredDocument {
  /// Returns the parts, without attributes, that a change to `new` modifies.
  fileprivate func changedParts(by kind: ChangeLog.Kind, to new: Document, staysThere: Bool) -> DocumentDots.Parts {
    var parts: DocumentDots.Parts = []
    // The flags belong to the text.
    if kind.contains(.text) || new.isJSON != document.isJSON { parts.insert(.text) }
    if !Document.haveSameTitle(document, new) { parts.insert(.title) }
    if new.key != document.key { parts.insert(.key) }
    if !kind.isDisjoint(with: [.place, .parent]) || !staysThere { parts.insert(.place) }
    return parts
  }

  /// Returns the entries of later versions that remain in a changed document.
  fileprivate func extensionBytes(without changed: DocumentDots.Parts, to new: Document) -> [UInt8] {
    var parts = ExtensionPart.Parts(changed)
    if new.attributes != document.attributes { parts.insert(.attributes) }
    return extensionBytes.withUnsafeBytes { ExtensionPart($0, of: .head)?.bytes(withoutThoseOf: parts) ?? [] }
  }
}

extension ExtensionPart.Parts {
  fileprivate init(_ parts: DocumentDots.Parts) {
    self = []
    if parts.contains(.text) { insert(.text) }
    if parts.contains(.title) { insert(.title) }
    if parts.contains(.key) { insert(.key) }
    if parts.contains(.place) { insert(.place) }
  }
}
