internal import CofferEngine
internal import CofferRecords

/// The reading calls in `read { }` and `write { }`, which all see the same state of the store.
///
/// Every row is verified before its data is returned. A row that differs from the written row throws `damaged` with its
/// ID. Documents are sorted by (position, ID). A missing collection is empty to every call except ``info(of:)``, which
/// throws `noSuchCollection`.
///
/// Every call can also throw `misuse` after the end of its scope, `closed` in a `read` while the store is being closed,
/// `cancelled` in a canceled task, and `ioFailure` if the file can't be read.
public protocol StoreReading: ~Copyable {
  /// Reserved for this library.
  var _transaction: _StoreTransaction { get }
}

extension StoreReading where Self: ~Copyable {
  package var transaction: StoreTransaction { _transaction }
}

/// The scope of `read`, whose calls all see the same state of the store. It's valid until the closure returns.
public struct ReadTransaction: StoreReading, ~Copyable {
  public let _transaction: _StoreTransaction

  init(_ transaction: StoreTransaction) {
    _transaction = transaction
  }
}

// MARK: - Documents

extension StoreReading where Self: ~Copyable {
  /// Returns a document without its text, for lists. Reads one row without decrypting the text.
  ///
  /// - Throws: `noSuchDocument`, `damaged`.
  public func header(of id: DocumentID) throws(StoreError) -> DocumentHeader {
    try transaction.header(of: id)
  }

  /// Returns a document's text from its row, or from the cache (``OpenOptions/textCacheBytes``).
  ///
  /// - Throws: `noSuchDocument`, `damaged`.
  public func text(of id: DocumentID) throws(StoreError) -> String {
    try transaction.text(of: id)
  }

  /// Returns a document with text, title, key, attributes, parent and dates, ready to be inserted elsewhere. Costs the
  /// same as ``text(of:)``.
  ///
  /// - Throws: `noSuchDocument`, `damaged`.
  public func document(_ id: DocumentID) throws(StoreError) -> Document {
    try transaction.document(id)
  }

  /// Calls `body` with a document's UTF-8 bytes, without creating a String. The bytes are valid during the call and
  /// erased with the store.
  ///
  /// - Returns: The result of `body`.
  /// - Throws: Errors of `body`, `noSuchDocument`, `damaged`.
  @inlinable
  public func withText<R>(of id: DocumentID, _ body: (OpenedDocument) throws -> R) throws -> R {
    var result: Result<R, any Error>?
    try _transaction.visit(id) { opened in result = Result { try body(opened) } }
    return try result!.get()
  }

  /// Returns whether a document with the given ID exists. Decrypts the head, so forged rows don't count.
  ///
  /// - Throws: `damaged`.
  public func exists(_ id: DocumentID) throws(StoreError) -> Bool {
    try transaction.exists(id)
  }

  /// Returns the document with a key, or `nil` if it doesn't exist. Uses an index that doesn't reveal the key.
  ///
  /// Searches every live epoch, and only accepts a document whose head contains the key. Doesn't decrypt texts.
  ///
  /// - Throws: `damaged`.
  public func id(forKey key: DocumentKey, in collection: DocumentCollection) throws(StoreError) -> DocumentID? {
    guard let record = try transaction.collection(named: collection.name) else { return nil }
    return try transaction.id(forKey: key, in: record)
  }

  /// The number of the store's last write transaction, according to the encrypted state. Each transaction that writes
  /// increases it by one.
  public var generation: UInt64 {
    transaction.notes?.noteEverything()
    return transaction.state.generation
  }

  /// The number of documents in all collections, according to the encrypted state.
  package var documentCount: Int { Int(transaction.state.count) }
}

// MARK: - Collections

extension StoreReading where Self: ~Copyable {
  /// Returns every collection in the order of ``WriteTransaction/reorder(_:)``, by default sorted by number.
  ///
  /// Counts documents with an SQLite index, so the counts aren't authenticated until `verify`. Costs a step for each
  /// document, or for each index page if the store has one collection.
  ///
  /// - Throws: `damaged`.
  public func collections() throws(StoreError) -> [CollectionInfo] {
    let counts = try transaction.documentCounts()
    return try transaction.orderedCollections().map { CollectionInfo($0, count: counts[$0.id] ?? 0) }
  }

  /// Returns all collection names in the order of ``collections()``, without counting documents.
  ///
  /// - Throws: `damaged`.
  package func collectionNames() throws(StoreError) -> [(id: CollectionID, name: String)] {
    transaction.notes?.noteEverything()
    return try transaction.orderedCollections().map { (CollectionID($0.id), $0.name) }
  }

  /// Returns whether a collection exists, without creating it. Compares names byte by byte.
  ///
  /// - Throws: `damaged`.
  public func exists(_ collection: DocumentCollection) throws(StoreError) -> Bool {
    try transaction.collection(named: collection.name) != nil
  }

  /// Returns a collection's settings, its number, and its count, which comes from an SQLite index.
  ///
  /// - Throws: `noSuchCollection`, `damaged`.
  public func info(of collection: DocumentCollection) throws(StoreError) -> CollectionInfo {
    // Changing settings doesn't change documents.
    transaction.notes?.noteEverything()
    let record = try transaction.requireCollection(collection)
    return CollectionInfo(record, count: try transaction.count(in: record))
  }

  /// Returns the number of documents in a collection, or 0 if it doesn't exist. Uses an SQLite index, so the count
  /// isn't verified until `verify`. Costs the same as ``collections()``.
  ///
  /// - Throws: `damaged`.
  public func count(in collection: DocumentCollection) throws(StoreError) -> Int {
    guard let record = try transaction.collection(named: collection.name) else { return 0 }
    return try transaction.count(in: record)
  }
}

extension StoreReading where Self: ~Copyable {
  /// The highest ID ever assigned to a document, even if it was deleted, or `nil` before the first document.
  package var highestID: DocumentID? {
    transaction.state.bound > 1 ? DocumentID(transaction.state.bound - 1) : nil
  }
}
