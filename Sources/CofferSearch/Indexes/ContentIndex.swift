internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// The index tables for words, substrings and fields in the inner database (Index-Format, "The inner database").
///
/// FTS5 can't delete a row from a contentless table without the old text, so each text version has a separate row
/// number, and a table lists outdated rows. When more than a fifth of the versions are outdated, the collection's
/// tables are rebuilt.
final class ContentIndex: DocumentIndexTables {
  /// The first row number for documents whose ID is already used by an earlier version.
  static let firstExtraRow: Int64 = 1 << 61

  private let database: Database
  private let declaration: IndexDeclaration
  private let keys: RowKeys
  private let sources: [UInt32: [FieldSource]]
  /// Whether the program has the coder that reads the store's own date form.
  private let readsOwnDates: Bool
  private let text = IndexedText()
  /// The texts of collections whose word index is limited to members.
  private let members: [UInt32: IndexedText]
  private let folding = SubstringFolding()

  init(_ file: IndexFile, _ transaction: StoreTransaction) throws(StoreError) {
    database = file.database
    declaration = file.declaration
    keys = transaction.keys
    readsOwnDates = declaration.hasOwnDates && transaction.values.dates == .own
    let values = readsOwnDates ? transaction.values : nil
    var sources: [UInt32: [FieldSource]] = [:]
    for collection in declaration.collections {
      var fields: [FieldSource] = []
      for field in collection.fields { fields.append(try FieldSource(field, values)) }
      sources[collection.number] = fields
    }
    self.sources = sources
    var members: [UInt32: IndexedText] = [:]
    for entry in declaration.collections where entry.members != nil {
      members[entry.number] = IndexedText(members: entry.members)
    }
    self.members = members
  }

  // MARK: Tables

  var holdsTexts: Bool { true }

  static func words(_ collection: UInt32) -> String { "words_\(collection)" }
  static func substrings(_ collection: UInt32) -> String { "parts_\(collection)" }
  static func fields(_ collection: UInt32) -> String { "fields_\(collection)" }
  static func outdated(_ collection: UInt32) -> String { "outdated_\(collection)" }
  static let trigrams = "trigram case_sensitive 1"
  static func column(_ field: Int) -> String { "f\(field)" }

  /// Returns the collection whose fields are in a table, or `nil` for other tables.
  static func collection(ofFields table: String) -> UInt32? {
    number(behind: "fields_", in: table).flatMap { $0.rest.isEmpty ? $0.number : nil }
  }

  /// Returns whether a table belongs to the index, which includes FTS5's shadow tables.
  static func isTable(_ name: String) -> Bool {
    if ["document", "made", "extra_row"].contains(name) { return true }
    if let (_, rest) = number(behind: "fields_", in: name) ?? number(behind: "outdated_", in: name) {
      return rest.isEmpty
    }
    guard let (_, rest) = number(behind: "words_", in: name) ?? number(behind: "parts_", in: name) else { return false }
    return ["", "_data", "_idx", "_content", "_docsize", "_config"].contains(rest)
  }

  private static func number(behind prefix: String, in name: String) -> (number: UInt32, rest: Substring)? {
    guard name.hasPrefix(prefix) else { return nil }
    let digits = name.dropFirst(prefix.count).prefix { ("0"..."9").contains($0) }
    guard let number = UInt32(digits), String(number) == digits else { return nil }
    return (number, name[digits.endIndex...])
  }

  func makeTables() throws(SQLiteError) {
    for text in IndexSchema.contents { try database.execute(text) }
  }

  func dropTables(of collection: UInt32) throws(SQLiteError) {
    for name in [
      Self.words(collection), Self.substrings(collection), Self.fields(collection), Self.outdated(collection),
    ] {
      try database.execute("DROP TABLE IF EXISTS main.\(name)")
    }
    try database.execute(
      "DELETE FROM main.extra_row WHERE id IN (SELECT id FROM main.document WHERE coll=?)", Int64(collection))
    try database.execute("DELETE FROM main.document WHERE coll=?", Int64(collection))
    try database.execute("DELETE FROM main.made WHERE coll=?", Int64(collection))
  }

  func makeTables(of collection: IndexDeclaration.Collection) throws(SQLiteError) {
    let number = collection.number
    try database.execute("INSERT INTO main.made VALUES(?,0,0)", Int64(number))
    if collection.hasTexts {
      try database.execute(IndexSchema.outdated(of: number))
    }
    if let keepsDiacritics = collection.keepsDiacritics {
      try database.execute(IndexSchema.words(of: number, keepingDiacritics: keepsDiacritics))
      try setBlockSize(of: Self.words(number))
    }
    if collection.hasSubstrings {
      try database.execute(IndexSchema.substrings(of: number))
      try setBlockSize(of: Self.substrings(number))
    }
    if !collection.fields.isEmpty {
      try database.execute(IndexSchema.fields(of: number, count: collection.fields.count))
    }
  }

  /// Sets FTS5's block size to fill a page, because the default size leaves half of each page empty.
  private func setBlockSize(of table: String) throws(SQLiteError) {
    let page = try database.integerPragma("page_size") ?? Int64(StoreFormat.pageSize)
    // Subtract the cell and page headers.
    let block = page - Int64(IndexPages.reservedBytes) - 66
    try database.execute("INSERT INTO main.\(table)(\(table), rank) VALUES('pgsz', ?)", block)
  }

  /// Creates the field indexes and their SQLite statistics.
  func finishTables(of collection: IndexDeclaration.Collection) throws(SQLiteError) {
    let table = Self.fields(collection.number)
    for index in IndexSchema.fieldIndexes(of: collection) {
      // A query's view may have the table's name, and SQLite looks for it among temporary objects first.
      try database.execute("CREATE INDEX main." + index.text.dropFirst("CREATE INDEX ".count))
    }
    if !collection.fields.isEmpty { try database.execute("ANALYZE main.\(table)") }
  }

  // MARK: Documents

  /// Returns a document's indexed collection, print and row, or `nil` if the document isn't indexed.
  private func known(_ id: Int64) throws(SQLiteError) -> (collection: UInt32, print: Int64, row: Int64?)? {
    let statement = try database.statement("SELECT coll,print,row FROM main.document WHERE id=?")
    defer { statement.reset() }
    try statement.bind(id, at: 1)
    guard try statement.step() else { return nil }
    return (
      try IndexedNumbers.collection(statement.int64(at: 0)), statement.int64(at: 1),
      statement.isNull(at: 2) ? nil : statement.int64(at: 2)
    )
  }

  func isUnchanged(_ document: IndexedDocument) throws(SQLiteError) -> Bool {
    let id = document.header.id.rawValue
    guard let known = try known(id), known.collection == document.header.collection.rawValue,
      try known.print == print(document)
    else { return false }
    try database.execute("UPDATE main.document SET mark=? WHERE id=?", document.mark, id)
    return true
  }

  private func print(_ document: IndexedDocument) throws(SQLiteError) -> Int64 {
    do throws(StoreError) {
      return try DocumentPrint(document, keys).value
    } catch {
      throw SQLiteError(.other, error.message)
    }
  }

  func put(_ document: IndexedDocument, isNew: Bool) throws(SQLiteError) {
    let header = document.header
    let id = header.id.rawValue
    let number = header.collection.rawValue
    guard let collection = declaration.collection(number) else { return }
    if !isNew { try remove(id) }
    let row = collection.hasTexts ? try newRow(id, in: number, isNew: isNew) : id
    let statement = try database.statement("INSERT INTO main.document VALUES(?,?,?,?,?)")
    try statement.bind(id, at: 1)
    try statement.bind(Int64(number), at: 2)
    try statement.bind(document.mark, at: 3)
    try statement.bind(print(document), at: 4)
    if row == id { try statement.bindNull(at: 5) } else { try statement.bind(row, at: 5) }
    try statement.run()
    if collection.hasTexts { try putTexts(collection, row, document) }
    guard !collection.fields.isEmpty else { return }
    let marks = collection.fields.map { _ in ",?" }.joined()
    let fields = try database.statement("INSERT INTO main.\(Self.fields(number)) VALUES(?\(marks))")
    try fields.bind(id, at: 1)
    for (index, value) in values(of: document).enumerated() { try fields.bind(value, at: index + 2) }
    try fields.run()
  }

  /// Returns a document's field values in indexed form.
  func values(of document: IndexedDocument) -> [SQLiteValue] {
    FieldSource.values(of: sources[document.header.collection.rawValue] ?? [], document.header, document.text)
  }

  private func newRow(_ id: Int64, in collection: UInt32, isNew: Bool) throws(SQLiteError) -> Int64 {
    var isFree = id < Self.firstExtraRow
    if isFree, !isNew {
      isFree = try database.firstValue("SELECT 1 FROM main.\(Self.outdated(collection)) WHERE row=?", id) == nil
    }
    guard !isFree else { return id }
    try database.execute(
      """
      INSERT INTO main.extra_row(row,id) SELECT max(ifnull(max(seq)+1,0),\(Self.firstExtraRow)),?
      FROM main.sqlite_sequence WHERE name='extra_row'
      """, id)
    return database.lastInsertedID
  }

  private func putTexts(
    _ collection: IndexDeclaration.Collection, _ row: Int64, _ document: IndexedDocument
  ) throws(SQLiteError) {
    try withTexts(of: document, collection) { words throws(SQLiteError) in
      try database.insertTexts(into: "main.\(Self.words(collection.number))", row, words)
    } substrings: { folded throws(SQLiteError) in
      try database.insertTexts(into: "main.\(Self.substrings(collection.number))", row, folded)
    }
  }

  /// A title and text to index, which are valid only during a call, and the names of attachments, if they're indexed.
  typealias Texts = (title: String, text: UnsafeRawBufferPointer, names: String?)

  /// Calls `words` once if the collection has a word index, and `substrings` once with folded texts if it has a
  /// substring index.
  func withTexts<E: Error>(
    of document: IndexedDocument, _ collection: IndexDeclaration.Collection, words: (Texts) throws(E) -> Void,
    substrings: (Texts) throws(E) -> Void
  ) throws(E) {
    var failure: E?
    func noting(_ body: (Texts) throws(E) -> Void, _ texts: Texts) {
      guard failure == nil else { return }
      do throws(E) { try body(texts) } catch { failure = error }
    }
    let title = document.header.title ?? ""
    let names = collection.words == nil ? "" : document.joinedNames
    let isValue = document.header.isJSON
    if collection.words != nil, collection.members != nil || !collection.hasSubstrings {
      (members[collection.number] ?? text).with(document.text, isValue: isValue) {
        noting(words, (title, $0, names))
      }
    }
    if collection.hasSubstrings {
      text.with(document.text, isValue: isValue) { text in
        if collection.words != nil, collection.members == nil { noting(words, (title, text, names)) }
        let foldedTitle = folding.folded(title)
        folding.with(text) { noting(substrings, (foldedTitle, $0, nil)) }
      }
    }
    if let failure { throw failure }
  }

  func remove(_ id: Int64) throws(SQLiteError) {
    guard let known = try known(id) else { return }
    let number = known.collection
    try database.execute("DELETE FROM main.document WHERE id=?", id)
    guard let collection = declaration.collection(number) else { return }
    if !collection.fields.isEmpty { try database.execute("DELETE FROM main.\(Self.fields(number)) WHERE id=?", id) }
    guard collection.hasTexts else { return }
    let row = known.row ?? id
    try database.execute("INSERT INTO main.\(Self.outdated(number)) VALUES(?)", row)
    if row != id { try database.execute("DELETE FROM main.extra_row WHERE row=?", row) }
    let tokens = collection.keepsDiacritics == nil ? 0 : try tokens(of: row, in: number)
    try database.execute(
      "UPDATE main.made SET outdated_rows=outdated_rows+1,outdated_tokens=outdated_tokens+? WHERE coll=?", tokens,
      Int64(number))
  }

  func unreadDocuments() throws(SQLiteError) -> [Int64] {
    guard readsOwnDates else { return [] }
    var ids: Set<Int64> = []
    for collection in declaration.collections {
      let table = Self.fields(collection.number)
      for field in collection.ownDates {
        // Only an unread date is a BLOB, and BLOBs are an index's last values.
        let rows = try database.query("SELECT id FROM main.\(table) WHERE \(Self.column(field)) >= x''").rows
        ids.formUnion(rows.compactMap { $0[0].integer })
      }
    }
    return ids.sorted()
  }

  // MARK: Counts

  /// Returns a row's word count in all columns.
  private func tokens(of row: Int64, in collection: UInt32) throws(SQLiteError) -> Int64 {
    let sizes = try database.firstValue("SELECT sz FROM main.\(Self.words(collection))_docsize WHERE id=?", row)
    return Self.varints(sizes?.blob ?? []).reduce(0, &+)
  }

  /// Returns the number of current rows in a word index, and their word count.
  static func counts(of collection: UInt32, _ database: Database) throws(SQLiteError) -> (rows: Int64, tokens: Int64) {
    // FTS5 stores its row count and each column's word count in its first block.
    let block = try database.firstValue("SELECT block FROM main.\(words(collection))_data WHERE id=1")
    let all = varints(block?.blob ?? [])
    let outdated = try database.query(
      "SELECT outdated_rows,outdated_tokens FROM main.made WHERE coll=?", Int64(collection)
    ).rows.first
    return (
      (all.first ?? 0) &- (outdated?[0].integer ?? 0), all.dropFirst().reduce(0, &+) &- (outdated?[1].integer ?? 0)
    )
  }

  /// Returns a collection's outdated rows in ascending order.
  static func outdatedRows(of collection: UInt32, _ database: Database) throws(SQLiteError) -> [Int64] {
    let statement = try database.statement("SELECT row FROM main.\(outdated(collection)) ORDER BY row")
    defer { statement.reset() }
    var rows: [Int64] = []
    while try statement.step() { rows.append(statement.int64(at: 0)) }
    return rows
  }

  func worn() throws(SQLiteError) -> [UInt32] {
    var worn: [UInt32] = []
    for collection in declaration.collections where collection.hasTexts {
      let number = Int64(collection.number)
      let outdated = try database.firstValue("SELECT outdated_rows FROM main.made WHERE coll=?", number)?.integer ?? 0
      guard outdated > 0 else { continue }
      let current = try database.firstValue("SELECT count(*) FROM main.document WHERE coll=?", number)?.integer ?? 0
      if outdated > current / 4 { worn.append(collection.number) }
    }
    return worn
  }

  /// Decodes SQLite's variable-length integers (big-endian, 7 bits per byte and 8 bits in the ninth byte).
  private static func varints(_ bytes: [UInt8]) -> [Int64] {
    var numbers: [Int64] = []
    var place = 0
    while place < bytes.count {
      var number: UInt64 = 0
      for index in 0..<9 {
        guard place < bytes.count else { return numbers }
        let byte = bytes[place]
        place += 1
        if index == 8 {
          number = number << 8 | UInt64(byte)
        } else {
          number = number << 7 | UInt64(byte & 0x7F)
          if byte < 0x80 { break }
        }
      }
      numbers.append(Int64(bitPattern: number))
    }
    return numbers
  }
}
