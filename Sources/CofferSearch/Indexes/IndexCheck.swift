internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// A check that compares an index with the documents by recomputing all words, fields and titles.
///
/// Memory use is two numbers per document in the current collection, and the words in about 1 MiB of text.
struct IndexCheck {
  private let transaction: StoreTransaction
  private let file: IndexFile
  private let step: (Int) throws(StoreError) -> Void
  private(set) var problems: [Verdict.IndexProblem] = []
  /// The counts of each collection's fields.
  private(set) var fields: [(collection: String, field: IndexedField)] = []

  init(
    _ transaction: StoreTransaction, _ file: IndexFile, _ step: @escaping (Int) throws(StoreError) -> Void
  ) {
    (self.transaction, self.file, self.step) = (transaction, file, step)
  }

  mutating func run() throws(StoreError) {
    let findings = try file.run { database throws(SQLiteError) in
      try database.integrityFindings("main.integrity_check(10)")
    }
    problems += findings.map { Verdict.IndexProblem("an index is in disorder: \($0)") }
    for record in try transaction.orderedCollections() {
      guard let entry = file.declaration.collection(record.id), entry.uid == record.uid else { continue }
      if entry.hasTitles { try compareTitles(record) } else { try compareContents(record, entry) }
      fields += try file.fields(of: entry).map { (record.name, $0) }
    }
  }

  private mutating func note(
    _ record: CollectionRecord, _ index: DocumentIndex?, _ id: Int64, _ message: String
  ) {
    problems.append(
      Verdict.IndexProblem(message, collection: record.name, index: index, documentID: DocumentID(rawValue: id)))
  }

  private func statement(_ sql: String) throws(StoreError) -> Statement {
    try file.run { database throws(SQLiteError) in try database.statement(sql) }
  }

  // MARK: Titles

  /// Compares the two sorted lists in one pass.
  private mutating func compareTitles(_ record: CollectionRecord) throws(StoreError) {
    let number = record.id
    let listed = try TitleList(file, number)
    defer { listed.reset() }
    var found = try listed.next()
    var wrong: [(Int64, String)] = []
    try StoreIndexes(transaction).forEachDocument(in: number, withTexts: false, step) { document throws(StoreError) in
      let header = document.header
      while let other = found, (other.position, other.id) < (header.position, header.id) {
        wrong.append((other.id.rawValue, "the list has it where the collection does not"))
        found = try listed.next()
      }
      guard let other = found, other.id == header.id, other.position == header.position else {
        wrong.append((header.id.rawValue, "it is missing in the list"))
        return
      }
      if other != header { wrong.append((header.id.rawValue, "its title, dates or size differ in the list")) }
      found = try listed.next()
    }
    while let other = found {
      wrong.append((other.id.rawValue, "the list has it where the collection does not"))
      found = try listed.next()
    }
    for (id, message) in wrong { note(record, .titles, id, message) }
  }

  // MARK: Words, substrings and fields

  private mutating func compareContents(
    _ record: CollectionRecord, _ entry: IndexDeclaration.Collection
  ) throws(StoreError) {
    let number = entry.number
    let index = try ContentIndex(file, transaction)
    let known = try statement("SELECT print,row FROM main.document WHERE coll=\(number) AND id=?")
    let fields =
      entry.fields.isEmpty ? nil : try statement("SELECT * FROM main.\(ContentIndex.fields(number)) WHERE id=?")
    let words =
      if let keeps = entry.keepsDiacritics {
        try WordSums(
          file, ContentIndex.words(number), WordTokenizer.declaration(keepingDiacritics: keeps), hasNames: true)
      } else {
        nil as WordSums?
      }
    let parts =
      entry.hasSubstrings
      ? try WordSums(file, ContentIndex.substrings(number), ContentIndex.trigrams, hasNames: false) : nil
    var wrong: [(Int64, DocumentIndex?, String)] = []
    var ids: [Int64: Int64] = [:]
    // A rekey changes documents' prints without changing documents, and builds the indexes at its end. Until then, only
    // the words and fields are compared. A row's mark isn't compared, because a row can be resealed without changing
    // its document.
    let hasPrints = transaction.state.target == 0
    try StoreIndexes(transaction).forEachDocument(in: number, withTexts: true, step) { document throws(StoreError) in
      let id = document.header.id.rawValue
      let print = try DocumentPrint(document, transaction.keys).value
      let row = try file.run { _ throws(SQLiteError) -> Int64? in
        defer { known.reset() }
        try known.bind(id, at: 1)
        guard try known.step() else { return nil }
        guard !hasPrints || known.int64(at: 0) == print else { return nil }
        return known.isNull(at: 1) ? id : known.int64(at: 1)
      }
      guard let row else {
        wrong.append((id, nil, "it is missing, or another version of it is indexed"))
        return
      }
      ids[row] = id
      if let fields {
        let values = try file.run { _ throws(SQLiteError) -> [SQLiteValue] in
          defer { fields.reset() }
          try fields.bind(id, at: 1)
          guard try fields.step() else { return [] }
          var values: [SQLiteValue] = []
          for place in entry.fields.indices { values.append(try fields.value(at: place + 1)) }
          return values
        }
        for (place, expected) in index.values(of: document).enumerated()
        where place >= values.count || values[place] != expected {
          // A program with the store's coder reads the date.
          if case .blob = expected, place < values.count { continue }
          let field = entry.fields[place]
          wrong.append((id, .field(field.name, field.path, as: field.kind), "another value is indexed"))
        }
      }
      guard entry.hasTexts else { return }
      try index.withTexts(of: document, entry) { texts throws(StoreError) in
        try words?.add(row, texts)
      } substrings: { texts throws(StoreError) in
        try parts?.add(row, texts)
      }
    }
    let outdated = entry.hasTexts ? try file.run { _ throws(SQLiteError) in try file.outdatedRows(of: number) } : []
    for sums in [words, parts] { try sums?.subtractIndexed { ids[$0] != nil || !outdated.contains($0) } }
    let missing = Set(wrong.filter { $0.1 == nil }.map(\.0))
    for (sums, kind) in [
      (words, entry.words), (parts, .substrings),
    ] {
      for row in sums?.differing ?? [] where !missing.contains(ids[row] ?? row) {
        wrong.append((ids[row] ?? row, kind, "other words than those of its text are indexed"))
      }
    }
    let hasExtraRows = try file.run { database throws(SQLiteError) in
      func counts(_ table: String) throws(SQLiteError) -> Bool {
        try database.firstValue("SELECT count(*) FROM main.\(table)")?.integer == Int64(ids.count)
      }
      if try !counts("document WHERE coll=\(number)") { return true }
      if entry.fields.isEmpty { return false }
      return try !counts(ContentIndex.fields(number))
    }
    if wrong.isEmpty, hasExtraRows {
      problems.append(Verdict.IndexProblem("documents are indexed that are not there", collection: record.name))
    }
    for (id, kind, message) in wrong.sorted(by: { $0.0 < $1.0 }) { note(record, kind, id, message) }
  }
}

/// The hash sums for each full-text row's words and positions, added from the texts and subtracted from the index.
private final class WordSums {
  /// The approximate batch size in bytes.
  private static let batchBytes = 1 << 20

  private let file: IndexFile
  private let table: String
  private let scratch: Database
  private var pending = 0
  private var sums: [Int64: Int] = [:]

  init(_ file: IndexFile, _ table: String, _ tokenizer: String, hasNames: Bool) throws(StoreError) {
    self.file = file
    self.table = table
    scratch = try translatingErrors { () throws(SQLiteError) in
      let scratch = try Database.scratch()
      try WordTokenizer.add(to: scratch)
      try scratch.execute(
        """
        CREATE VIRTUAL TABLE texts
        USING fts5(title, text\(hasNames ? ", names" : ""), content='', detail=\(hasNames ? "full" : "none"), tokenize='\(tokenizer)');
        CREATE VIRTUAL TABLE words USING fts5vocab('texts', 'instance');
        """)
      return scratch
    }
  }

  func add(_ row: Int64, _ texts: ContentIndex.Texts) throws(StoreError) {
    sums[row] = sums[row] ?? 0
    try translatingErrors { () throws(SQLiteError) in
      try scratch.insertTexts(into: "texts", row, texts)
      pending += texts.text.count + (texts.names?.utf8.count ?? 0)
      if pending > Self.batchBytes { try addPending() }
    }
  }

  private func addPending() throws(SQLiteError) {
    let words = try scratch.statement("SELECT term,doc,col,offset FROM words")
    while try words.step() { sums[words.int64(at: 1), default: 0] &+= Self.hash(words) }
    words.reset()
    try scratch.execute("INSERT INTO texts(texts) VALUES('delete-all')")
    pending = 0
  }

  /// Subtracts the indexed words, except in rows for which `isCounted` returns false, such as outdated rows.
  func subtractIndexed(_ isCounted: (Int64) -> Bool) throws(StoreError) {
    try translatingErrors(addPending)
    try file.run { database throws(SQLiteError) in
      try database.execute("CREATE VIRTUAL TABLE temp.\"#words\" USING fts5vocab('main', '\(table)', 'instance')")
      do throws(SQLiteError) {
        let words = try database.statement("SELECT term,doc,col,offset FROM temp.\"#words\"")
        while try words.step() {
          let row = words.int64(at: 1)
          if isCounted(row) { sums[row, default: 0] &-= Self.hash(words) }
        }
        words.reset()
      } catch {
        _ = try? database.execute("DROP TABLE temp.\"#words\"")
        throw error
      }
      try database.execute("DROP TABLE temp.\"#words\"")
    }
  }

  private static func hash(_ word: Statement) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: word.blobPointer(at: 0))
    hasher.combine(word.blobPointer(at: 0).count)
    hasher.combine(bytes: word.blobPointer(at: 2))
    hasher.combine(word.int64(at: 3))
    return hasher.finalize()
  }

  /// The rows whose words differ between texts and index.
  var differing: [Int64] { sums.filter { $0.value != 0 }.keys.sorted() }
}
