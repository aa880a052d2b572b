internal import CofferSealing

#if canImport(Glibc)
  internal import Glibc
#endif

// How a single change is sealed: one read of the row as it stands, one new row in its place.

extension StoreTransaction {
  /// A document as it stands, with what a change of it starts from.
  struct Standing {
    let header: DocumentHeader
    var document: Document
    /// What its row said of itself.
    let fields: RowFields
    let lookup: [UInt8]?
    let bodyTag: [UInt8]
    /// What its row is in the set hash.
    let element: SetHash
  }

  func standing(_ id: DocumentID) throws(StoreError) -> Standing {
    try withRow(id, body: true) { row, _ throws(StoreError) in
      let opener = connection.takeOpener()
      defer { connection.giveBack(opener) }
      let head = try opener.openHead(row)
      let opened = OpenedDocument(header: DocumentHeader(row, head), utf8: try opener.openBody(row, head))
      return Standing(
        header: opened.header, document: Document(opened), fields: row.fields,
        lookup: row.lookup.map { Array($0) }, bodyTag: Array(row.bodyTag), element: try opener.element(of: row))
    }
  }

  /// - Throws: `alreadyExists` where it stands in another collection.
  func standing(_ id: DocumentID, in collection: DocumentCollection) throws(StoreError) -> Standing {
    let standing = try standing(id)
    guard try self.collection(named: collection.name)?.id == standing.header.collection.rawValue else {
      throw StoreError(.alreadyExists, "document \(id) stands in another collection", documentID: id)
    }
    return standing
  }

  /// What an upsert keeps: title, attributes, parent and the date of making, where they are not given.
  func overwrite(_ old: Standing, with document: Document) throws(StoreError) {
    var new = document
    new.title = document.title ?? old.document.title
    new.key = document.key ?? old.document.key
    new.attributes = document.attributes.isEmpty ? old.document.attributes : document.attributes
    new.parent = document.parent ?? old.document.parent
    new.created = document.created ?? old.document.created
    new.modified = document.modified ?? .now()
    new.title = try title(of: new, insteadOf: old)
    try replace(old, with: new)
  }

  /// The title of a changed document: where the collection derives titles, one that the old text gave goes with it.
  func title(of new: Document, insteadOf old: Standing) throws(StoreError) -> String? {
    guard new.title == nil || new.title == old.document.title,
      let record = try collections().first(where: { $0.id == old.header.collection.rawValue }),
      record.titleRule == .derived, new.title == nil || new.title == old.document.derivedTitle
    else { return new.title }
    return new.derivedTitle
  }

  func replace(_ old: Standing, with new: Document, requiringParent requiresParent: Bool = true) throws(StoreError) {
    let header = old.header
    let id = header.id
    let active = keys.active.epoch
    let keepsKey = new.key == old.document.key
    guard let record = try collections().first(where: { $0.id == header.collection.rawValue }) else {
      throw StoreError(
        .damaged, "collection \(header.collection) is gone, but document \(id) is there", documentID: id)
    }
    if !keepsKey { try requireUnusedKey(new.key, in: record, by: id) }
    if requiresParent, new.parent != old.document.parent {
      try requireParent(new.parent, of: id.rawValue, isNew: false, in: record.id)
    }
    try willWrite()
    let fields = RowFields(
      id: id.rawValue, collection: record.id, epoch: active, revision: revision,
      position: header.position, parent: new.parent?.rawValue,
      flags: new.isJSON ? StoreFormat.RowFlags.json.rawValue : 0)
    // A text that stays, under keys that stay, is not sealed again.
    let keepsText = old.fields.epoch == active && new.text.isIdentical(to: old.document.text)
    let lookup = keepsKey && old.fields.epoch == active ? old.lookup : try self.lookup(of: new.key, in: record)
    try seal(
      new, fields, lookup: lookup, created: new.created ?? header.created, modified: new.modified ?? header.modified,
      keepingBody: keepsText ? old.bodyTag : nil)
    let keepsPlace = new.parent == old.document.parent && lookup == old.lookup
    try replaceSealed(old.element, keepsPlace ? .content : .all, before: old.fields)
  }

  func requireUnusedKey(_ key: ExternalKey?, in record: CollectionRecord, by id: DocumentID?) throws(StoreError) {
    guard let key, let other = try self.id(forKey: key, in: record), other != id else { return }
    throw StoreError(.duplicateKey, "document \(other) has that key already", documentID: other)
  }

  /// Where a key is found, under the active epoch.
  func lookup(of key: ExternalKey?, in record: CollectionRecord) throws(StoreError) -> [UInt8]? {
    guard let key else { return nil }
    return try keys.lookup(of: key, in: record, under: keys.active)
  }

  /// Seals a document of Strings into the connection's batch; only its head where the body of that tag is kept.
  func seal(
    _ document: Document, _ fields: RowFields, lookup: [UInt8]?, created: Timestamp, modified: Timestamp,
    keepingBody kept: [UInt8]? = nil
  ) throws(StoreError) {
    let title = document.title.map { Array($0.utf8) }
    var text = document.text
    let result: Result<Void, StoreError> = text.withUTF8 { text in
      Result { () throws(StoreError) in
        try withBytes(title) { title throws(StoreError) in
          try withBytes(document.key?.bytes) { key throws(StoreError) in
            try document.attributes.canonicalJSON.withBytes { attributes throws(StoreError) in
              let content = RecordSealer.Content(
                title: title, key: key, lookup: lookup, attributes: attributes,
                created: created.millisecondsSince1970, modified: modified.millisecondsSince1970)
              guard let kept else {
                return try connection.sealer.seal(
                  fields, content, text: UnsafeRawBufferPointer(text), into: connection.batch)
              }
              try kept.withBytes { tag throws(StoreError) in
                try connection.sealer.sealHead(
                  fields, content, textCount: text.count, bodyTag: tag, into: connection.batch)
              }
            }
          }
        }
      }
    }
    if case .failure(let error) = result {
      connection.batch.removeAll()
      throw error
    }
  }

  private func withBytes<R>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) throws(StoreError) -> R)
    throws(StoreError) -> R
  {
    guard let bytes else { return try body(nil) }
    return try bytes.withBytes { bytes throws(StoreError) in try body(bytes) }
  }
}

extension Timestamp {
  /// The system's clock, in milliseconds.
  static func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }
}
