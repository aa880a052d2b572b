internal import CofferRecords

/// Reads inside `read { }` and `write { }`, all of them as of one moment.
///
/// Every row is verified before any of it is returned; a row that is not the one that was written throws `damaged` with
/// its id. Order is (position, id). A collection that doesn't exist yet is empty to every read; only ``info(of:)``,
/// which reads its settings, throws `noSuchCollection`.
///
/// Every call can also throw `misuse` after the end of its scope, `closed` in a `read` while the store is being closed,
/// `cancelled` in a task that was cancelled, and `ioFailure` if the file can't be read.
public protocol ReadScope: ~Copyable {
  /// For this library alone.
  var _transaction: StoreTransaction { get }
}

extension ReadScope where Self: ~Copyable {
  var transaction: StoreTransaction { _transaction }
}

/// The scope of `read`: all of its calls see the store as of one moment. Valid until the closure returns.
public struct StoreReader: ReadScope, ~Copyable {
  public let _transaction: StoreTransaction

  init(_ transaction: StoreTransaction) {
    _transaction = transaction
  }
}

// MARK: - Documents

extension ReadScope where Self: ~Copyable {
  /// A document without its text, for lists. Reads one row and opens no text.
  ///
  /// - Throws: `noSuchDocument`, `damaged`.
  public func header(of id: DocumentID) throws(StoreError) -> DocumentHeader {
    try transaction.header(of: id)
  }

  /// One text. Reads and opens one row, or takes the text from the cache (``OpenOptions/textCacheBytes``).
  ///
  /// - Throws: `noSuchDocument`, `damaged`.
  public func text(of id: DocumentID) throws(StoreError) -> String {
    try transaction.withOpened(id) { opened throws(StoreError) in opened.text }
  }

  /// One document with text, title, key, attributes, parent and dates, in a form that can be inserted again. Costs what
  /// ``text(of:)`` costs.
  ///
  /// - Throws: `noSuchDocument`, `damaged`.
  public func document(_ id: DocumentID) throws(StoreError) -> Document {
    try transaction.document(id)
  }

  /// Calls `body` with one text as bytes of UTF-8, which are valid during the call and wiped with the store; no String
  /// is made.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: errors of `body`; `noSuchDocument`, `damaged`.
  @inlinable
  public func withText<R>(of id: DocumentID, _ body: (OpenedDocument) throws -> R) throws -> R {
    var result: Result<R, any Error>?
    try _transaction.visit(id) { opened in result = Result { try body(opened) } }
    return try result!.get()
  }

  /// Whether a document of that id exists. Opens its head, so that a row that was planted is none.
  ///
  /// - Throws: `damaged`.
  public func exists(_ id: DocumentID) throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try transaction.reading { reader throws(StoreError) in
        _ = try reader.opener.openHead(try reader.row(id, withBody: false, within: transaction.limits))
        return true
      }
    } catch {
      if error.code == .noSuchDocument { return false }
      throw error
    }
  }

  /// The document with that key, found by an index that does not reveal the key; nil if there is none.
  ///
  /// Looks under every live epoch, and accepts only a document whose head holds the key. Opens no text.
  ///
  /// - Throws: `damaged`.
  public func id(forKey key: ExternalKey, in collection: DocumentCollection) throws(StoreError) -> DocumentID? {
    guard let record = try transaction.collection(named: collection.name) else { return nil }
    return try transaction.id(forKey: key, in: record)
  }

  /// The number of the store's last write transaction, as the sealed state has it; a transaction that wrote raises it
  /// by one.
  public var generation: UInt64 { transaction.state.generation }

  /// Number of documents in all collections of the store, as the sealed state has it.
  public var documentCount: Int { Int(transaction.state.count) }
}

// MARK: - Collections

extension ReadScope where Self: ~Copyable {
  /// Every collection, in the order that ``StoreWriter/arrange(_:)`` gave them, otherwise sorted by number; empty for a
  /// store without any. Counted by an SQLite index; unproved until `verify`.
  ///
  /// - Throws: `damaged`.
  public func collections() throws(StoreError) -> [CollectionInfo] {
    let counts = try transaction.documentCounts()
    return try transaction.orderedCollections().map { CollectionInfo($0, count: counts[$0.id] ?? 0) }
  }

  /// Whether the collection exists; does not create it. Names are compared byte by byte.
  ///
  /// - Throws: `damaged`.
  public func exists(_ collection: DocumentCollection) throws(StoreError) -> Bool {
    try transaction.collection(named: collection.name) != nil
  }

  /// The settings of a collection, its number and its count, which an SQLite index gives.
  ///
  /// - Throws: `noSuchCollection`, `damaged`.
  public func info(of collection: DocumentCollection) throws(StoreError) -> CollectionInfo {
    let record = try transaction.requireCollection(collection)
    return CollectionInfo(record, count: try transaction.count(in: record))
  }

  /// Number of documents in a collection, 0 if it doesn't exist: counted by an SQLite index; unproved until `verify`.
  /// Costs an index entry for each document.
  ///
  /// - Throws: `damaged`.
  public func count(in collection: DocumentCollection) throws(StoreError) -> Int {
    guard let record = try transaction.collection(named: collection.name) else { return 0 }
    return try transaction.count(in: record)
  }
}

extension CollectionInfo {
  init(_ record: CollectionRecord, count: Int) {
    self.init(
      id: CollectionID(record.id), name: record.name, titleRule: record.titleRule, foldsKeys: record.foldsKeys,
      attributes: record.settings.attributes, count: count)
  }
}
