internal import CofferRecords

/// Makes the collections of one transaction, each with the identity that its name has in every copy of the store.
struct NewCollections {
  private let keys: RowKeys
  private let revision: UInt64
  private let dot: Dot
  /// All collections by identity, including dropped collections.
  private var known: [UniqueID: CollectionRecord]
  private var listed: Set<UniqueID>
  /// The sort key and number of the last collection in the order.
  private var last: (order: Int64, id: UInt32)
  private var highest: UInt32

  init(_ transaction: StoreTransaction) throws(StoreError) {
    let writer = try transaction.writer
    keys = transaction.keys
    dot = try writer.upcomingDot()
    revision = writer.revision
    let stored = try transaction.storedCollections()
    known = Dictionary(stored.map { ($0.uid, $0) }, uniquingKeysWith: { one, _ in one })
    let listed = try transaction.collections()
    self.listed = Set(listed.map(\.uid))
    last = listed.map { (order: $0.settings.order, id: $0.id) }.max { $0 < $1 } ?? (order: 0, id: 0)
    highest = stored.map(\.id).max() ?? 0
  }

  /// Returns a collection to write, which is last in the order. It's a new collection, or the dropped collection with
  /// that name.
  ///
  /// - Throws: `tooLarge` if there are no numbers left, or `invalidArgument` for a reserved name.
  mutating func record(_ name: String, _ settings: CollectionSettings) throws(StoreError) -> CollectionRecord {
    try CollectionEditor.requireFree(name)
    var record = try makeRecord(name, settings)
    // A dropped collection has its number again, by which collections with equal keys are sorted.
    record.settings.order = min(last.order + (record.id < last.id ? 1 : 0), CollectionSettings.orders.upperBound)
    last = (record.settings.order, record.id)
    return record
  }

  /// Returns the collection that lists the app's migrations.
  mutating func recordOfMigrations(_ settings: CollectionSettings) throws(StoreError) -> CollectionRecord {
    try makeRecord(CollectionRecord.nameOfMigrations, settings)
  }

  private mutating func makeRecord(
    _ name: String, _ settings: CollectionSettings
  ) throws(StoreError) -> CollectionRecord {
    var count: UInt32 = 0
    var uid = try keys.collectionUID(named: name)
    // A renamed collection has the identity of its first name.
    while listed.contains(uid) {
      count += 1
      uid = try keys.collectionUID(named: name, count)
    }
    listed.insert(uid)
    if var record = known[uid] {
      record.rename(to: name)
      record.settings = settings
      record.isDropped = false
      record.revision = revision
      (record.dots.name, record.dots.settings, record.dots.dropped, record.dots.stamp) = (dot, dot, dot, dot)
      return record
    }
    guard highest < UInt32(Int32.max) else { throw StoreError(.tooLarge, "no more collections can be made") }
    highest += 1
    return CollectionRecord(
      id: highest, revision: revision, name: name, settings: settings, uid: uid, dots: CollectionDots(dot))
  }
}
