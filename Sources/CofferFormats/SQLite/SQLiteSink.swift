public import CofferDocuments
internal import CofferPlatform
internal import CofferSQLite

/// A sink that writes a plain SQLite database with a table for each collection:
/// `(id INTEGER PRIMARY KEY, title TEXT, text TEXT NOT NULL, key, created TEXT, modified TEXT, attributes TEXT,
/// parent INTEGER, json INTEGER NOT NULL, position INTEGER NOT NULL)`. An index on `position` determines the order.
///
/// Dates are ISO 8601, attributes are JSON, and keys are blobs if they aren't text. `json` is 1 for a stored value, or
/// otherwise 0. A table has its collection's name. If SQLite reserves the name, or it differs from another name only in
/// the case of ASCII letters, the collection's number precedes the name. Without documents, the only table is
/// `documents`. ``SQLiteSource`` reads equal documents.
public struct SQLiteSink: DocumentSink {
  private let database: Database
  private var inserts: [[UInt8]: Statement] = [:]
  private var tables: Set<String> = []
  /// The collection of the last document.
  private var current: (name: String, insert: Statement)?
  private var position: Int64 = 0
  private var dates = DateWriter()
  private var scratch: [UInt8] = []

  /// Creates a sink that writes to an existing empty file at `path`. It doesn't use a journal, because an unfinished
  /// file is useless.
  ///
  /// - Throws: `unwritable` if the file can't be opened. The file is then unchanged.
  public init(path: String) throws(FormatError) {
    do throws(SQLiteError) {
      database = try Database(path, mode: .readWrite, configuration: .init(busyTimeout: .zero))
      // Omit the journal and sync, because other processes don't use the file, and it's discarded on failure.
      for pragma in ["journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "temp_store=MEMORY"] {
        try database.statement("PRAGMA \(pragma)").run()
      }
    } catch {
      throw Self.failure(error)
    }
  }

  public mutating func begin() throws(FormatError) {
    do throws(SQLiteError) {
      guard try database.fileSize() == 0 else { throw SQLiteError(.fileExists, "the file is not empty") }
      try database.begin(.exclusive)
      // Makes the file a database even without documents.
      try database.statement("PRAGMA user_version=1").run()
    } catch {
      throw Self.failure(error)
    }
  }

  /// Writes a document as a row, and creates its collection's table if it's missing.
  ///
  /// - Throws: `unwritable`, including when a document is written twice.
  public mutating func write(_ document: OpenedDocument, inCollection name: String) throws(FormatError) {
    let header = document.header
    do throws(SQLiteError) {
      let insert = try insert(into: name, header.collection)
      position += 1
      try insert.bind(header.id.rawValue, at: 1)
      if let title = header.title { try insert.bind(title, at: 2) } else { try insert.bindNull(at: 2) }
      // Run before the text's memory is reused.
      try insert.bindText(document.utf8, at: 3)
      if let key = header.key {
        if let text = key.text { try insert.bind(text, at: 4) } else { try insert.bind(key.bytes, at: 4) }
      } else {
        try insert.bindNull(at: 4)
      }
      try bind(header.created, to: insert, at: 5)
      try bind(header.modified, to: insert, at: 6)
      if header.attributes.isEmpty {
        try insert.bindNull(at: 7)
      } else {
        try insert.bind(String(decoding: header.attributes.canonicalJSON, as: UTF8.self), at: 7)
      }
      if let parent = header.parent { try insert.bind(parent.rawValue, at: 8) } else { try insert.bindNull(at: 8) }
      try insert.bind(Int64(header.isJSON ? 1 : 0), at: 9)
      try insert.bind(position, at: 10)
      try insert.run()
    } catch {
      if case .constraint = error.code {
        throw FormatError(.unwritable, "document \(header.id) comes twice, which a table cannot hold")
      }
      throw Self.failure(error)
    }
  }

  public mutating func finish() throws(FormatError) {
    do throws(SQLiteError) {
      // A source needs a table.
      if inserts.isEmpty { _ = try insert(into: "documents", CollectionID(1)) }
      current = nil
      inserts = [:]
      try database.commit()
      try database.close()
    } catch {
      throw Self.failure(error)
    }
  }

  private mutating func bind(_ date: Timestamp, to insert: Statement, at index: Int) throws(SQLiteError) {
    scratch.removeAll(keepingCapacity: true)
    dates.append(date, to: &scratch)
    try scratch.bindText(to: insert, at: index)
  }

  private mutating func insert(into name: String, _ collection: CollectionID) throws(SQLiteError) -> Statement {
    if let current, current.name.utf8.elementsEqual(name.utf8) { return current.insert }
    let insert: Statement
    if let known = inserts[Array(name.utf8)] {
      insert = known
    } else {
      let table = tableName(for: name, collection)
      try database.execute(
        """
        CREATE TABLE \(table.quoted)(id INTEGER PRIMARY KEY, title TEXT, text TEXT NOT NULL, key, created TEXT, \
        modified TEXT, attributes TEXT, parent INTEGER, json INTEGER NOT NULL, position INTEGER NOT NULL)
        """)
      try database.execute("CREATE INDEX \("\(table) order".quoted) ON \(table.quoted)(position, id)")
      insert = try database.statement("INSERT INTO \(table.quoted) VALUES(?,?,?,?,?,?,?,?,?,?)")
      inserts[Array(name.utf8)] = insert
    }
    current = (name, insert)
    return insert
  }

  private mutating func tableName(for name: String, _ collection: CollectionID) -> String {
    let plain = name.replacing("\0", with: "\u{FFFD}")
    var candidate = plain
    // An index has its table's name with a suffix, which must differ from other tables' names.
    while candidate.asciiLowercased.hasPrefix("sqlite_") || tables.contains(candidate.asciiLowercased)
      || tables.contains("\(candidate) order".asciiLowercased)
    {
      candidate = candidate == plain ? "\(collection.rawValue)-\(plain)" : "\(candidate)-"
    }
    tables.formUnion([candidate.asciiLowercased, "\(candidate) order".asciiLowercased])
    return candidate
  }

  private static func failure(_ error: SQLiteError) -> FormatError {
    var failure = FormatError(error.code == .fileExists ? .outputExists : .unwritable, "SQLite: \(error.message)")
    failure.systemError = error.code == .full ? ENOSPC : nil
    return failure
  }
}

extension [UInt8] {
  /// Binds a copy as text.
  fileprivate func bindText(to statement: Statement, at index: Int) throws(SQLiteError) {
    let result: Result<Void, SQLiteError> = withUnsafeBytes { bytes in
      Result { () throws(SQLiteError) in try statement.bindText(copying: bytes, at: index) }
    }
    try result.get()
  }
}
