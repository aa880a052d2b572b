package import CofferDocuments
package import CofferSQLite
package import CofferSealing

/// A collection, opened from its row (FORMAT, "Collections").
package struct CollectionRecord: Sendable, Hashable {
  package var id: UInt32
  package var revision: UInt64
  /// The name for reading. It differs from the stored name if a merge added another collection with the same name.
  package private(set) var name: String
  package private(set) var storedName: String
  package var settings: CollectionSettings
  /// The identity in all copies, which the family key and the first name determine.
  package var uid: UniqueID
  package var dots: CollectionDots
  /// Whether the collection was dropped. It's listed only while it has documents.
  package var isDropped = false
  /// The entries of later versions.
  package var extensionBytes: [UInt8] = []

  /// `uid || dots || u32 length || name || u32 length || settings || extension part`
  package var data: [UInt8] {
    let name = Array(storedName.utf8)
    var builder = ByteBuilder()
    builder.append(uid)
    dots.write(to: &builder, isDropped: isDropped)
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
  /// Whether the collection's attributes list the app's migrations.
  package var holdsMigrations: Bool { storedName.utf8.elementsEqual(Self.nameOfMigrations.utf8) }

  /// The name of the collection for the app's migrations.
  package static let nameOfMigrations = "coffer.migrations"

  package func seal(_ keys: RowKeys) throws(StoreError) -> CollectionRow {
    let frame = Frame.around(data, minimum: Frame.standardMinimum, isPadded: keys.session.isPadded)
    return try translatingErrors { () throws(SealingError) in
      let binding = Array(keys.binding.collection(id, revision: revision, epoch: keys.active.epoch))
      return CollectionRow(
        id: id, revision: revision, sealed: try keys.active.name.seal(frame, authenticating: binding))
    }
  }

  /// - Throws: `damaged` if the seal, the frame or the settings are invalid.
  package init(_ row: CollectionRow, _ keys: RowKeys) throws(StoreError) {
    let (id, revision) = (row.id, row.revision)
    if let proof = keys.proof, try !proof.collections.contains(Int64(id), row.element(keys)) {
      throw .changedSinceProof("collection #\(id)")
    }
    let isPadded = keys.session.isPadded
    var isNewer = false
    do throws(SealingError) {
      // Every key change re-encrypts all collections, so an older row with old settings can't be opened.
      let frame = try keys.active.name.open(
        row.sealed, authenticating: Array(keys.binding.collection(id, revision: revision, epoch: keys.active.epoch)))
      let data = try frame.withBytes { frame throws(SealingError) in
        Array(frame[try Frame.dataRange(of: frame, minimum: Frame.standardMinimum, isPadded: isPadded)])
      }
      let parts = data.withBytes { CollectionRecord($0, id: id, revision: revision, isNewer: &isNewer) }
      guard let parts else { throw SealingError(.malformed, "an invalid name or invalid settings") }
      self = parts
    } catch {
      throw .unopened(
        error,
        StoreError(
          .damaged, "collection #\(id) is damaged: its name can't be opened", hint: "\(.verify) lists all damage"))
    }
    guard !isNewer else { throw .newerStore }
  }

  /// Reads ``data``, or returns `nil` for invalid bytes.
  ///
  /// - Parameter isNewer: Set if an entry of a later version must be understood.
  package init?(_ data: UnsafeRawBufferPointer, id: UInt32, revision: UInt64, isNewer: inout Bool) {
    var reader = ByteReader(data)
    guard let uid = reader.uniqueID(), let (dots, isDropped) = CollectionDots.read(&reader),
      let count: UInt32 = reader.integer(), count >= 1, count <= StoreFormat.maximumCollectionName,
      let name = reader.bytes(Int(count)), let length: UInt32 = reader.integer(),
      let settings = reader.bytes(Int(length)), let rest = reader.bytes(reader.remaining),
      let part = ExtensionPart(rest, of: .collection),
      let name = String(validating: name, as: UTF8.self), let settings = CollectionSettings(settings)
    else { return nil }
    isNewer = part.isNewer
    self.init(id: id, revision: revision, name: name, settings: settings, uid: uid, dots: dots)
    self.isDropped = isDropped
    extensionBytes = Array(part.bytes)
  }

  package init(
    id: UInt32, revision: UInt64, name: String, settings: CollectionSettings, uid: UniqueID, dots: CollectionDots
  ) {
    self.id = id
    self.revision = revision
    self.name = name
    storedName = name
    self.settings = settings
    self.uid = uid
    self.dots = dots
  }

  package mutating func rename(to name: String) {
    self.name = name
    storedName = name
  }

  fileprivate mutating func read(as name: String) { self.name = name }

  /// Returns whether a row's key folds to a lookup's bytes.
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
  package let revision: UInt64
  package let sealed: [UInt8]
}

extension CollectionRow {
  /// Creates a row from the columns of ``SQL/collections``.
  ///
  /// - Throws: `damaged` if a column is invalid.
  package init(columns row: [SQLiteValue], generation: UInt64) throws(StoreError) {
    let numbers = 1...StoreFormat.maximumNumber
    guard case .integer(let id) = row[0], numbers.contains(id), case .integer(let revision) = row[1],
      (1...StoreFormat.maximumGeneration).contains(revision), UInt64(revision) <= generation,
      case .blob(let sealed) = row[2],
      (XAESKey.overhead + Frame.headerCount...StoreFormat.maximumSealedCollection).contains(sealed.count)
    else { throw StoreError(.damaged, "a collection is damaged: its row is out of its bounds") }
    self.init(id: UInt32(id), revision: UInt64(revision), sealed: sealed)
  }

  /// Returns the row's set hash element.
  package func element(_ keys: RowKeys) throws(StoreError) -> SetElement {
    try translatingErrors { () throws(SealingError) in
      let element = sealed.withBytes {
        keys.binding.collectionElement(id, epoch: keys.active.epoch, revision: revision, sealed: $0)
      }
      return try keys.active.set.element(of: element)
    }
  }
}

/// A store's collections for one connection, which are opened once per generation.
package final class CollectionTable {
  private let database: StoreDatabase
  private let replicas: ReplicaTable
  private var keys: RowKeys
  private struct Cache {
    let generation: UInt64
    var stored: [CollectionRecord] = []
    var listed: [CollectionRecord] = []
    /// The numbers of the dropped collections, and whether each is listed.
    var dropped: [UInt32: Bool] = [:]
  }

  private var cached: Cache?

  package init(_ database: StoreDatabase, _ keys: RowKeys, _ replicas: ReplicaTable) {
    self.database = database
    self.keys = keys
    self.replicas = replicas
  }

  package func use(_ keys: RowKeys) {
    self.keys = keys
    forget()
  }

  /// Clears the cache. Call this method after a change in this transaction.
  package func forget() {
    cached = nil
  }

  /// Returns the listed collections with their names for reading, verified and sorted by number.
  ///
  /// A dropped collection is listed while it has documents, which were changed elsewhere while it was dropped. The
  /// migrations collection doesn't have documents, and isn't listed.
  package func records(within limits: RowLimits) throws(StoreError) -> [CollectionRecord] {
    try read(within: limits).listed
  }

  /// Returns all collections, including dropped collections, verified and sorted by number.
  package func storedRecords(within limits: RowLimits) throws(StoreError) -> [CollectionRecord] {
    try read(within: limits).stored
  }

  /// Returns whether an inserted or deleted document changes which collections are listed, and clears the cache if so.
  func changesListing(documentIn id: UInt32, within limits: RowLimits) throws(StoreError) -> Bool {
    // A collection that can't be opened isn't listed, and doesn't prevent changes to documents.
    if cached?.generation != limits.generation { _ = try? read(within: limits) }
    guard let isListed = cached?.dropped[id], try isListed != hasDocuments(id) else { return false }
    forget()
    return true
  }

  private func hasDocuments(_ id: UInt32) throws(StoreError) -> Bool {
    try database.integer(SQL.hasDocuments, Int64(id)) != nil
  }

  private func read(within limits: RowLimits) throws(StoreError) -> Cache {
    if let cached, cached.generation == limits.generation { return cached }
    var new = Cache(generation: limits.generation)
    for row in try rows(within: limits) {
      let record = try CollectionRecord(row, keys)
      new.stored.append(record)
      let isListed = try record.isDropped || record.holdsMigrations ? hasDocuments(record.id) : true
      if record.isDropped { new.dropped[record.id] = isListed }
      if isListed { new.listed.append(record) }
    }
    try distinguish(&new.listed)
    cached = new
    return new
  }

  /// Gives collections with the same name different names for reading (FORMAT, "Collections").
  private func distinguish(_ records: inout [CollectionRecord]) throws(StoreError) {
    guard Set(records.map { Array($0.storedName.utf8) }).count < records.count else { return }
    let replicas = try replicas.current()
    func isBefore(_ one: CollectionRecord, _ other: CollectionRecord) -> Bool {
      if one.dots.name == other.dots.name { return one.uid < other.uid }
      return replicas.isBefore(one.dots.name, other.dots.name)
    }
    let order = records.indices.sorted { isBefore(records[$0], records[$1]) }
    var taken: Set<[UInt8]> = []
    let others = order.filter { !taken.insert(Array(records[$0].storedName.utf8)).inserted }
    let uids = records.map(\.uid)
    for index in others.sorted(by: { uids[$0] < uids[$1] }) {
      var name = "\(records[index].storedName)~\(Hexadecimal.text(Array(records[index].uid.bytes.prefix(4))))"
      while !taken.insert(Array(name.utf8)).inserted { name += "~" }
      records[index].read(as: name)
    }
  }

  /// Returns all rows without opening them, sorted by number.
  package func rows(within limits: RowLimits) throws(StoreError) -> [CollectionRow] {
    let statement = try database.statement(SQL.collections)
    defer { statement.reset() }
    var rows: [CollectionRow] = []
    while try statement.step() {
      let row = try CollectionRow(columns: try statement.values(), generation: limits.generation)
      // Pages with manipulated cells can return a row any number of times.
      guard row.id > rows.last?.id ?? 0 else {
        throw StoreError(.damaged, "a collection is damaged: #\(row.id) is not in its place")
      }
      rows.append(row)
    }
    return rows
  }

  func row(_ id: UInt32, within limits: RowLimits) throws(StoreError) -> CollectionRow {
    guard let columns = try database.rows(SQL.collection, Int64(id)).first else {
      throw StoreError(.noSuchCollection, "collection #\(id) is gone")
    }
    return try CollectionRow(columns: columns.values, generation: limits.generation)
  }
}
