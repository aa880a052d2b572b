package import CofferDocuments
package import CofferSQLite
package import CofferSealing

/// A collection, opened from its row (FORMAT, "Collections").
package struct CollectionRecord: Sendable, Hashable {
  package var id: UInt32
  package var epoch: UInt32
  package var revision: UInt64
  package var name: String
  package var settings: CollectionSettings
  /// The generation that created the collection.
  package var born: UInt64
  /// The generation that last changed the name or settings.
  package var edited: UInt64
  package var uid: UniqueID
  /// The entries of later versions.
  package var extensionBytes: [UInt8] = []

  /// `u64 born || u64 edited || uid || u32 length || name || u32 length || settings || extension part`
  private var data: [UInt8] {
    let name = Array(name.utf8)
    var builder = ByteBuilder()
    builder.append(born)
    builder.append(edited)
    builder.append(uid)
    builder.append(UInt32(name.count))
    builder.append(bytes: name)
    let settings = settings.canonicalJSON
    builder.append(UInt32(settings.count))
    builder.append(bytes: settings)
    builder.append(bytes: extensionBytes)
    return builder.bytes
  }

  package var titleRule: TitleRule { settings.titleRule }
  package var foldsKeys: Bool { settings.foldsKeys }

  package func seal(_ keys: RowKeys) throws(StoreError) -> CollectionRow {
    let frame = Frame.around(data, minimum: Frame.standardMinimum, isPadded: keys.session.isPadded)
    return try translatingErrors { () throws(SealingError) in
      guard let context = keys.context(of: epoch) else {
        throw SealingError(.malformed, "a collection names an epoch that the keyring lacks")
      }
      let binding = Array(keys.binding.collection(id, revision: revision, epoch: epoch))
      return CollectionRow(
        id: id, epoch: epoch, revision: revision,
        sealed: try context.name.seal(frame, authenticating: binding))
    }
  }

  /// - Throws: `damaged` if the seal, the frame or the settings are invalid.
  package init(_ row: CollectionRow, _ keys: RowKeys) throws(StoreError) {
    let (id, epoch, revision) = (row.id, row.epoch, row.revision)
    let isPadded = keys.session.isPadded
    var isNewer = false
    do throws(SealingError) {
      // Reject an older row with old settings, because every key change re-encrypts all collections.
      guard epoch == keys.active.epoch else { throw SealingError(.malformed, "another epoch") }
      let frame = try keys.active.name.open(
        row.sealed, authenticating: Array(keys.binding.collection(id, revision: revision, epoch: epoch)))
      let data = try frame.withBytes { frame throws(SealingError) in
        Array(frame[try Frame.dataRange(of: frame, minimum: Frame.standardMinimum, isPadded: isPadded)])
      }
      let parts: CollectionRecord? = data.withBytes { data in
        var reader = ByteReader(data)
        let counters = 1...UInt64(StoreFormat.maximumCounter)
        guard let born: UInt64 = reader.integer(), let edited: UInt64 = reader.integer(),
          counters.contains(born), counters.contains(edited), let uid = reader.uniqueID(),
          let count: UInt32 = reader.integer(), count >= 1, count <= StoreFormat.maximumCollectionName,
          let name = reader.bytes(Int(count)), let length: UInt32 = reader.integer(),
          let settings = reader.bytes(Int(length)), let rest = reader.bytes(reader.remaining),
          let part = ExtensionPart(rest, of: .collection),
          let name = String(validating: name, as: UTF8.self), let settings = CollectionSettings(settings)
        else { return nil }
        isNewer = part.isNewer
        var record = CollectionRecord(
          id: id, epoch: epoch, revision: revision, name: name, settings: settings, born: born, edited: edited, uid: uid
        )
        record.extensionBytes = Array(part.bytes)
        return record
      }
      guard let parts else { throw SealingError(.malformed, "an invalid name or invalid settings") }
      self = parts
    } catch {
      throw .unopened(
        error,
        StoreError(
          .damaged, "collection #\(id) is damaged: its name can't be opened", hint: "\(.verify) shows what else is"))
    }
    guard !isNewer else { throw .newerStore }
  }

  /// Returns a new collection of the active epoch.
  package static func new(
    _ id: UInt32, name: String, settings: CollectionSettings, revision: UInt64, _ keys: RowKeys
  ) throws(StoreError) -> CollectionRecord {
    CollectionRecord(
      id: id, epoch: keys.active.epoch, revision: revision, name: name, settings: settings, born: revision,
      edited: revision, uid: try keys.newUID())
  }

  package init(
    id: UInt32, epoch: UInt32, revision: UInt64, name: String, settings: CollectionSettings, born: UInt64,
    edited: UInt64, uid: UniqueID
  ) {
    self.id = id
    self.epoch = epoch
    self.revision = revision
    self.name = name
    self.settings = settings
    self.born = born
    self.edited = edited
    self.uid = uid
  }

  /// Returns whether a row's key folds to the bytes of a lookup.
  package func folds(_ key: UnsafeRawBufferPointer?, to folded: [UInt8]) throws(StoreError) -> Bool {
    guard let key else { return false }
    return foldsKeys ? try self.folded(DocumentKey(bytes: key)) == folded : key.elementsEqual(folded)
  }

  /// Returns the bytes for looking up a key in this collection.
  package func folded(_ key: DocumentKey) throws(StoreError) -> [UInt8] {
    guard (1...DocumentKey.maximumByteCount).contains(key.bytes.count) else {
      throw StoreError(.tooLarge, "a key has 1 to \(DocumentKey.maximumByteCount) bytes")
    }
    guard foldsKeys else { return key.bytes }
    guard let text = key.text else {
      throw StoreError(.invalidArgument, "this collection folds its keys, so a key must be UTF-8 text")
    }
    return KeyFolding.fold(text)
  }
}

/// A row of `coffer_collection` with checked columns, which isn't verified yet.
package struct CollectionRow {
  package let id: UInt32
  package let epoch: UInt32
  package let revision: UInt64
  package let sealed: [UInt8]

  init(id: UInt32, epoch: UInt32, revision: UInt64, sealed: [UInt8]) {
    self.id = id
    self.epoch = epoch
    self.revision = revision
    self.sealed = sealed
  }

  /// Creates a row from the columns of ``SQL/collections``.
  ///
  /// - Throws: `damaged` if a column is invalid.
  package init(_ row: SQLiteRow, generation: UInt64) throws(StoreError) {
    let numbers = 1...StoreFormat.maximumNumber
    guard case .integer(let id) = row[0], numbers.contains(id), case .integer(let epoch) = row[1],
      numbers.contains(epoch), case .integer(let revision) = row[2],
      (1...StoreFormat.maximumCounter).contains(revision), UInt64(revision) <= generation,
      case .blob(let sealed) = row[3],
      (XAESKey.overhead + Frame.headerCount...StoreFormat.maximumSealedCollection).contains(sealed.count)
    else { throw StoreError(.damaged, "a collection is damaged: its row is out of its bounds") }
    self.init(id: UInt32(id), epoch: UInt32(epoch), revision: UInt64(revision), sealed: sealed)
  }

  /// Returns the row's set hash element.
  package func element(_ keys: RowKeys) throws(StoreError) -> SetElement {
    try translatingErrors { () throws(SealingError) in
      guard let context = keys.context(of: epoch) else {
        throw SealingError(.malformed, "a collection names an epoch that the keyring lacks")
      }
      let element = sealed.withBytes {
        keys.binding.collectionElement(id, epoch: epoch, revision: revision, sealed: $0)
      }
      return try context.set.element(of: element)
    }
  }
}

/// A store's collections for one connection, which are opened once per generation.
package final class CollectionTable {
  private let database: StoreDatabase
  private var keys: RowKeys
  private var cached: (generation: UInt64, records: [CollectionRecord])?

  package init(_ database: StoreDatabase, _ keys: RowKeys) {
    self.database = database
    self.keys = keys
  }

  package func use(_ keys: RowKeys) {
    self.keys = keys
    forget()
  }

  /// Clears the cache. Call this method after a change in this transaction.
  package func forget() {
    cached = nil
  }

  /// Returns all collections, verified and sorted by number.
  package func records(within limits: RowLimits) throws(StoreError) -> [CollectionRecord] {
    if let cached, cached.generation == limits.generation { return cached.records }
    var records: [CollectionRecord] = []
    for row in try rows(within: limits) { records.append(try CollectionRecord(row, keys)) }
    cached = (limits.generation, records)
    return records
  }

  /// Returns all rows without opening them, sorted by number.
  package func rows(within limits: RowLimits) throws(StoreError) -> [CollectionRow] {
    var rows: [CollectionRow] = []
    for columns in try database.rows(SQL.collections) {
      let row = try CollectionRow(columns, generation: limits.generation)
      // A page with manipulated cells can return a row twice.
      guard row.id > rows.last?.id ?? 0 else {
        throw StoreError(.damaged, "a collection is damaged: #\(row.id) is not in its place")
      }
      rows.append(row)
    }
    return rows
  }

  func row(_ id: UInt32, within limits: RowLimits) throws(StoreError) -> CollectionRow {
    guard let row = try rows(within: limits).first(where: { $0.id == id }) else {
      throw StoreError(.noSuchCollection, "collection #\(id) is gone")
    }
    return row
  }
}
