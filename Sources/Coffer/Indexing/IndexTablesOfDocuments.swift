internal import CofferDocuments
internal import CofferRecords
internal import CofferSQLite

/// A document as it goes into an index.
struct IndexedDocument {
  let header: DocumentHeader
  let marks: RowMarks
  /// Empty for an index that holds no texts.
  var text: UnsafeRawBufferPointer
}

/// The tables of one index in its inner database, as ``IndexUpdate`` fills them.
///
/// Each has a table `document` with id, coll and mark of every indexed document, and a table `made` of the collections
/// whose tables are there.
protocol IndexTablesOfDocuments: AnyObject {
  /// Whether texts are indexed, and not headers alone.
  var holdsTexts: Bool { get }
  /// Makes the tables that all collections share.
  func makeTables() throws(SQLiteError)
  /// Drops all tables of a collection, and forgets its documents.
  func dropTables(of collection: UInt32) throws(SQLiteError)
  /// Makes the tables of a collection.
  func makeTables(of collection: IndexDeclaration.Collection) throws(SQLiteError)
  /// Completes the tables of a collection after its documents were put in.
  func finishTables(of collection: IndexDeclaration.Collection) throws(SQLiteError)
  /// The collections whose tables hold so many outdated versions that they are to be made again.
  func worn() throws(SQLiteError) -> [UInt32]
  /// Whether nothing that is indexed has changed in a document; then its new mark is noted.
  func isUnchanged(_ document: IndexedDocument) throws(SQLiteError) -> Bool
  /// Indexes a document in place of its earlier version.
  ///
  /// - Parameter isNew: the index has not had a document of that id since its collection's tables were made.
  func put(_ document: IndexedDocument, isNew: Bool) throws(SQLiteError)
  /// Forgets a document; does nothing for one that is not indexed.
  func remove(_ id: Int64) throws(SQLiteError)
}

extension Database {
  /// An empty database in memory, which writes no temporary files.
  static func scratch() throws(SQLiteError) -> Database {
    let database = try Database(
      ":memory:", mode: .create,
      configuration: .init(
        isHardened: true, lengthLimit: Int(StoreFormat.maximumValue), statementCacheCapacity: 16))
    try database.keepTemporariesInMemory()
    return database
  }

  /// Inserts one row into a full-text table with the columns title and text.
  func insertTexts(
    into table: String, _ row: Int64, _ title: String, _ text: UnsafeRawBufferPointer
  ) throws(SQLiteError) {
    let statement = try self.statement("INSERT INTO \(table)(rowid,title,text) VALUES(?,?,?)")
    try statement.bind(row, at: 1)
    try statement.bind(title, at: 2)
    try statement.bindText(text, at: 3)
    defer { statement.clearBindings() }
    try statement.run()
  }
}

extension StoreTransaction {
  /// Visits all documents of a collection, each with its marks: by id with their texts, or in order without.
  ///
  /// - Parameter progress: called with the number of further documents visited.
  func forEachIndexed(
    in number: UInt32, withTexts: Bool, _ progress: ((Int) throws(StoreError) -> Void)?,
    _ visit: (IndexedDocument) throws(StoreError) -> Void
  ) throws(StoreError) {
    var marks: RowMarks?
    var scan = RowScan(withTexts: withTexts)
    scan.noteMarks = { marks = $0 }
    scan.changesNoRows = true
    scan.progress = { count in try progress?(count) }
    let statement = try database.statement(withTexts ? SQL.byIDWithBody : SQL.inOrder, Int64(number))
    let order =
      withTexts ? OrderCheck(idsOf: number) : OrderCheck(collection: number, after: nil, limit: state.count)
    do {
      try self.scan(statement, order, scan) { header, text in
        if let marks { try visit(IndexedDocument(header: header, marks: marks, text: text)) }
      }
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("internal error: a walk threw \(type(of: error))")
    }
  }
}

/// Numbers as the inner database gives them: an old page that is put back may hold any.
enum IndexedNumbers {
  /// - Throws: `corrupt` for a number that no collection has.
  static func collection(_ number: Int64) throws(SQLiteError) -> UInt32 {
    guard (1...Int64(Int32.max)).contains(number) else {
      throw SQLiteError(.corrupt, "a collection of a number that none has")
    }
    return UInt32(number)
  }
}
