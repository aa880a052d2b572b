internal import CofferSQLite
internal import CofferSealing

#if canImport(Glibc)
  internal import Glibc
#endif

/// The scope of ``DocumentStore/write(_:)``: all of it is committed when the closure returns, none of it when it throws.
public struct Writer: ReadScope, ~Copyable {
  public let transaction: StoreTransaction
}

// MARK: - Documents

extension Writer {
  /// Adds a document; makes the collection where it is missing.
  ///
  /// - Parameter id: a number to keep, as an import does; otherwise the store gives the next.
  /// - Returns: its number, which is never given again.
  /// - Throws: `alreadyExists` for a taken number, `duplicateKey`, `tooLarge`, `invalidArgument`.
  @discardableResult
  public func insert(
    _ document: Document, into collection: DocumentCollection, at placement: Placement = .bottom,
    id wanted: DocumentID? = nil
  ) throws(StoreError) -> DocumentID {
    try transaction.willWrite()
    let record = try openOrCreate(collection)
    if let wanted, try transaction.isTaken(wanted) {
      throw StoreError(.alreadyExists, "there is a document \(wanted) already", documentID: wanted)
    }
    let id = try transaction.takeID(wanted)
    try requireUnusedKey(document.key, in: record, by: nil)
    try transaction.requireParent(document.parent, of: id, in: record.id)
    let position = try transaction.position(for: placement, in: record.id)
    let now = Timestamp.now()
    var document = document
    if document.title == nil && record.titleRule == .derived {
      document.title = TitleRule.derivedTitle(from: document.text)
    }
    let fields = RowFields(
      id: id, collection: record.id, epoch: transaction.keys.active.epoch, revision: transaction.revision,
      position: position, parent: document.parent?.rawValue,
      flags: document.isJSON ? StoreFormat.RowFlags.json.rawValue : 0)
    try seal(document, fields, in: record, created: document.created ?? now, modified: document.modified ?? now)
    try transaction.insertSealed()
    return DocumentID(id)
  }

  /// Changes a document in place; its number can't be lost.
  ///
  /// `modified` becomes now, unless the closure sets it.
  ///
  /// - Throws: `noSuchDocument`, `duplicateKey`, `tooLarge`, `damaged`.
  public func update(_ id: DocumentID, _ change: (inout Document) -> Void) throws(StoreError) {
    let header = try header(of: id)
    let old = try document(id)
    var new = old
    change(&new)
    guard new != old else { return }
    if new.modified == old.modified { new.modified = .now() }
    try replace(header, old, with: new)
  }

  /// Replaces the document of that number, or adds one under it; what `document` doesn't give is kept.
  ///
  /// - Returns: true when it was added.
  @discardableResult
  public func put(_ document: Document, id: DocumentID, into collection: DocumentCollection) throws(StoreError) -> Bool
  {
    guard try transaction.isTaken(id) else {
      try insert(document, into: collection, id: id)
      return true
    }
    let header = try header(of: id)
    guard try openOrCreate(collection).id == header.collection.rawValue else {
      throw StoreError(.alreadyExists, "document \(id) stands in another collection", documentID: id)
    }
    try overwrite(header, with: document)
    return false
  }

  /// Replaces the document with that key, or adds one; what `document` doesn't give is kept.
  @discardableResult
  public func put(_ document: Document, into collection: DocumentCollection, key: ExternalKey) throws(StoreError)
    -> DocumentID
  {
    var document = document
    document.key = key
    guard let id = try id(forKey: key, in: collection) else { return try insert(document, into: collection) }
    try overwrite(try header(of: id), with: document)
    return id
  }

  /// - Throws: `noSuchDocument`, and `damaged` for a row that is not the one that was written.
  public func delete(_ id: DocumentID) throws(StoreError) {
    try transaction.delete(id)
  }

  /// Puts a document elsewhere in its collection's order. Only its head is sealed anew.
  public func move(_ id: DocumentID, to placement: Placement) throws(StoreError) {
    let header = try header(of: id)
    try transaction.willWrite()
    switch placement {
    case .before(id), .after(id): return
    default: break
    }
    let position = try transaction.position(for: placement, in: header.collection.rawValue)
    try transaction.move(id, toPosition: position)
  }

  /// Runs `body` so that what it did is undone when it throws, and the rest of the transaction goes on.
  @discardableResult
  public func savepoint<T>(_ body: (inout Writer) throws -> T) throws -> T {
    try transaction.requireOpen()
    let mark = transaction.mark
    do {
      return try transaction.database.savepoint {
        var inner = Writer(transaction: transaction)
        return try body(&inner)
      }
    } catch {
      transaction.restore(mark)
      throw error
    }
  }
}

// MARK: - Collections

extension Writer {
  /// - Throws: `alreadyExists`, `invalidArgument`.
  @discardableResult
  public func createCollection(_ name: String, titleRule: TitleRule = .asGiven, foldsKeys: Bool = false)
    throws(StoreError) -> CollectionInfo
  {
    CollectionInfo(
      try transaction.createCollection(name, titleRule: titleRule, foldsKeys: foldsKeys), count: 0)
  }

  /// Gives a collection another name; its documents stay as they are.
  public func renameCollection(_ name: String, to new: String) throws(StoreError) {
    let old = try transaction.requireCollection(DocumentCollection(name))
    try transaction.checkCollectionName(new)
    var renamed = old
    renamed.name = new
    renamed.revision = transaction.revision
    renamed.epoch = transaction.keys.active.epoch
    try transaction.replaceCollection(old, with: renamed)
  }

  /// Removes a collection with all its documents.
  public func dropCollection(_ name: String) throws(StoreError) {
    try transaction.deleteCollection(try transaction.requireCollection(DocumentCollection(name)))
  }

  func openOrCreate(_ collection: DocumentCollection, titleRule: TitleRule = .asGiven) throws(StoreError)
    -> CollectionRecord
  {
    if let record = try transaction.collection(named: collection.name) { return record }
    return try transaction.createCollection(collection.name, titleRule: titleRule, foldsKeys: false)
  }
}

// MARK: - Inside

extension Writer {
  /// What an upsert keeps: title, attributes, parent and the date of making, where they are not given.
  private func overwrite(_ header: DocumentHeader, with document: Document) throws(StoreError) {
    let old = try self.document(header.id)
    var new = document
    new.title = document.title ?? old.title
    new.key = document.key ?? old.key
    new.attributes = document.attributes.isEmpty ? old.attributes : document.attributes
    new.parent = document.parent ?? old.parent
    new.created = document.created ?? old.created
    new.modified = document.modified ?? .now()
    try replace(header, old, with: new)
  }

  private func replace(_ header: DocumentHeader, _ old: Document, with new: Document) throws(StoreError) {
    let collections = try transaction.collections()
    guard let record = collections.first(where: { $0.id == header.collection.rawValue }) else {
      throw StoreError(
        .damaged, "collection \(header.collection) is gone, but document \(header.id) is there",
        documentID: header.id)
    }
    let id = header.id
    if new.key != old.key { try requireUnusedKey(new.key, in: record, by: id) }
    if new.parent != old.parent { try transaction.requireParent(new.parent, of: id.rawValue, in: record.id) }
    try transaction.willWrite()
    // A text that stays, under keys that stay, is not sealed again.
    let (element, kept) = try transaction.withRow(id, body: false) { row, _ throws(StoreError) in
      let isKept = new.text == old.text && row.fields.epoch == transaction.keys.active.epoch
      return (try transaction.connection.opener.element(of: row), isKept ? Array(row.bodyTag) : nil)
    }
    let fields = RowFields(
      id: id.rawValue, collection: record.id, epoch: transaction.keys.active.epoch, revision: transaction.revision,
      position: header.position, parent: new.parent?.rawValue,
      flags: new.isJSON ? StoreFormat.RowFlags.json.rawValue : 0)
    try seal(
      new, fields, in: record, created: new.created ?? header.created, modified: new.modified ?? header.modified,
      keepingBody: kept)
    try transaction.replaceSealed(element)
  }

  private func requireUnusedKey(_ key: ExternalKey?, in record: CollectionRecord, by id: DocumentID?) throws(StoreError)
  {
    guard let key, let other = try transaction.id(forKey: key, in: record), other != id else { return }
    throw StoreError(.duplicateKey, "document \(other) has that key already", documentID: other)
  }

  /// Seals a document of Strings into the connection's batch; only its head where the body of that tag is kept.
  private func seal(
    _ document: Document, _ fields: RowFields, in record: CollectionRecord, created: Timestamp, modified: Timestamp,
    keepingBody kept: [UInt8]? = nil
  ) throws(StoreError) {
    let connection = transaction.connection
    let lookup: [UInt8]? =
      if let key = document.key {
        try transaction.keys.lookup(of: key, in: record, under: transaction.keys.active)
      } else { nil }
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
