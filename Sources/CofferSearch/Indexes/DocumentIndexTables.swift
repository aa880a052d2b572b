internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// A document to index.
struct IndexedDocument {
  let header: DocumentHeader
  let marks: RowMarks
  /// The sum of the row's and its attachments' marks if the index contains texts, otherwise the row's mark.
  let mark: Int64
  /// The attachments' names, which are empty if the index doesn't contain texts.
  let names: [SearchMatch.AttachmentName]
  /// The text, which is empty if the index doesn't contain texts.
  var text: UnsafeRawBufferPointer

  /// - Parameter attached: The attachments, or `nil` if the index doesn't contain texts.
  init(
    header: DocumentHeader, marks: RowMarks, attached: AttachedNames?,
    text: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) throws(StoreError) {
    let found = try attached?.find(of: header.id.rawValue) ?? (mark: 0, names: [])
    (self.header, self.marks, self.text) = (header, marks, text)
    (mark, names) = (marks.row &+ found.mark, found.names)
  }

  /// The names as a text, with a line break after each name.
  var joinedNames: String { Self.joined(names) }

  static func joined(_ names: [SearchMatch.AttachmentName]) -> String { names.map { $0.name + "\n" }.joined() }
}

/// An index's tables in its inner database, filled by ``IndexUpdate``.
///
/// The table `document` contains each indexed document's ID, collection and mark. The table `made` lists collections
/// whose tables exist.
protocol DocumentIndexTables: AnyObject {
  /// Whether texts are indexed in addition to headers.
  var holdsTexts: Bool { get }
  /// Creates the tables shared by all collections.
  func makeTables() throws(SQLiteError)
  /// Drops a collection's tables and removes its documents from the index.
  func dropTables(of collection: UInt32) throws(SQLiteError)
  /// Creates a collection's tables.
  func makeTables(of collection: IndexDeclaration.Collection) throws(SQLiteError)
  /// Completes a collection's tables after its documents are indexed.
  func finishTables(of collection: IndexDeclaration.Collection) throws(SQLiteError)
  /// Returns the collections to rebuild because their tables contain too many outdated versions.
  func worn() throws(SQLiteError) -> [UInt32]
  /// Returns whether a document's indexed parts are unchanged, and if so, stores its new mark.
  func isUnchanged(_ document: IndexedDocument) throws(SQLiteError) -> Bool
  /// Indexes a document, replacing its earlier version.
  ///
  /// - Parameter isNew: Whether the ID wasn't indexed since the collection's tables were created.
  func put(_ document: IndexedDocument, isNew: Bool) throws(SQLiteError)
  /// Returns the documents whose dates another program couldn't read and this program can.
  func unreadDocuments() throws(SQLiteError) -> [Int64]
  /// Removes a document from the index if it's indexed.
  func remove(_ id: Int64) throws(SQLiteError)
}

extension Database {
  /// Creates an empty in-memory database that doesn't write temporary files.
  static func scratch() throws(SQLiteError) -> Database {
    let database = try Database(
      ":memory:", mode: .create,
      configuration: .init(
        isHardened: true, lengthLimit: Int(StoreFormat.maximumValue), statementCacheCapacity: 16))
    try database.keepTemporariesInMemory()
    return database
  }

  /// Inserts a row into a full-text table with title and text columns, and a names column if there are names.
  func insertTexts(into table: String, _ row: Int64, _ texts: ContentIndex.Texts) throws(SQLiteError) {
    let (title, text, names) = texts
    let columns = names == nil ? ("title,text", "?,?") : ("title,text,names", "?,?,?")
    let statement = try self.statement("INSERT INTO \(table)(rowid,\(columns.0)) VALUES(?,\(columns.1))")
    try statement.bind(row, at: 1)
    try statement.bind(title, at: 2)
    try statement.bindText(text, at: 3)
    if let names { try statement.bind(names, at: 4) }
    defer { statement.clearBindings() }
    try statement.run()
  }
}

extension StoreIndexes {
  /// Visits a collection's documents with their marks, sorted by ID with texts, or in order without texts.
  ///
  /// - Parameter progress: Called with the number of documents visited since the last call.
  func forEachDocument(
    in number: UInt32, withTexts: Bool, _ progress: ((Int) throws(StoreError) -> Void)?,
    _ visit: (IndexedDocument) throws(StoreError) -> Void
  ) throws(StoreError) {
    var marks: RowMarks?
    let attached = withTexts ? try AttachedNames(of: 1...Int64.max, in: transaction) : nil
    defer { attached?.end() }
    var scan = RowScan(withTexts: withTexts)
    scan.noteMarks = { marks = $0 }
    scan.leavesRowsUnchanged = true
    scan.isWhole = true
    scan.progress = { count in try progress?(count) }
    let statement = try transaction.database.statement(withTexts ? SQL.byIDWithBody : SQL.inOrder, Int64(number))
    let order =
      withTexts ? OrderCheck(idsOf: number) : OrderCheck(collection: number, after: nil, limit: transaction.state.count)
    try expectingStoreErrors {
      try transaction.scan(statement, order, scan) { header, text in
        if let marks { try visit(IndexedDocument(header: header, marks: marks, attached: attached, text: text)) }
      }
    }
  }
}

/// Checks for numbers from the inner database, because restored old pages can contain any number.
enum IndexedNumbers {
  /// Returns a collection number, or throws `corrupt` if the number is invalid.
  static func collection(_ number: Int64) throws(SQLiteError) -> UInt32 {
    guard (1...Int64(Int32.max)).contains(number) else {
      throw SQLiteError(.corrupt, "a collection of a number that none has")
    }
    return UInt32(number)
  }
}
