internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// A highlighter that finds a query's matches in decrypted documents by using FTS5 on an in-memory table.
final class Highlighter {
  let entry: IndexDeclaration.Collection
  private let database: Database
  private let text: IndexedText

  // These bytes don't occur in UTF-8.
  private static let open: UInt8 = 0xFE
  private static let close: UInt8 = 0xFF
  private static let cut: UInt8 = 0xFD
  private static let snippetWords = 24
  /// The approximate batch size in bytes.
  private static let batchBytes = 1 << 20

  /// The size of the added texts in bytes, or `nil` before the first document.
  private var pending: Int?

  /// - Parameter entry: A collection with a word index.
  init(_ entry: IndexDeclaration.Collection) throws(StoreError) {
    self.entry = entry
    text = IndexedText(members: entry.members)
    database = try translatingErrors { () throws(SQLiteError) in
      let database = try Database.scratch()
      try database.execute("PRAGMA secure_delete = ON")
      try WordTokenizer.add(to: database)
      try database.execute(
        """
        CREATE VIRTUAL TABLE hits USING fts5(title, text,
          tokenize='\(WordTokenizer.declaration(keepingDiacritics: entry.keepsDiacritics == true))')
        """)
      return database
    }
  }

  /// Whether to search the pending documents before adding more.
  var isFull: Bool { pending ?? 0 >= Self.batchBytes }

  func add(_ header: DocumentHeader, _ text: UnsafeRawBufferPointer) throws(StoreError) {
    let result = self.text.with(text, isValue: header.isJSON) { text in
      Result { () throws(SQLiteError) in try insert(header.id.rawValue, header.title ?? "", text) }
    }
    try translatingErrors(result.get)
  }

  private func insert(_ id: Int64, _ title: String, _ text: UnsafeRawBufferPointer) throws(SQLiteError) {
    if pending == nil { try database.begin(.immediate) }
    pending = (pending ?? 0) + text.count
    // FTS5 ends a text at U+0000.
    let title = title.replacing("\0", with: "\u{1}")
    guard text.contains(0) else { return try database.insertTexts(into: "hits", id, title, text) }
    let changed = text.map { $0 == 0 ? 1 : $0 }
    let result = changed.withUnsafeBytes { changed in
      Result { () throws(SQLiteError) in try database.insertTexts(into: "hits", id, title, changed) }
    }
    try result.get()
  }

  /// Returns title matches and text snippets by document ID, and removes the added documents.
  func places(_ query: String) throws(StoreError) -> [Int64: (title: [Range<Int>], snippet: RankedMatches.Snippet)] {
    defer { forget() }
    var places: [Int64: (title: [Range<Int>], snippet: RankedMatches.Snippet)] = [:]
    guard pending != nil else { return places }
    try translatingErrors { () throws(SQLiteError) in
      let marked = try database.statement(
        """
        SELECT rowid, highlight(hits,0,X'\(Self.hex(Self.open))',X'\(Self.hex(Self.close))'),
          snippet(hits,1,X'\(Self.hex(Self.open))',X'\(Self.hex(Self.close))',X'\(Self.hex(Self.cut))',\(Self.snippetWords))
        FROM hits WHERE hits MATCH ?
        """)
      defer { marked.reset() }
      try marked.bind(query, at: 1)
      while try marked.step() {
        places[marked.int64(at: 0)] = (
          Self.unmarked(marked.storedTextPointer(at: 1, isUTF16: false)).ranges,
          Self.unmarked(marked.storedTextPointer(at: 2, isUTF16: false))
        )
      }
    }
    return places
  }

  /// Removes the added documents.
  func forget() {
    guard pending != nil else { return }
    try? database.rollback()
    pending = nil
  }

  private static func hex(_ byte: UInt8) -> String { String(byte, radix: 16, uppercase: true) }

  /// Returns a text without its marks, and the marked ranges.
  private static func unmarked(_ bytes: UnsafeRawBufferPointer) -> RankedMatches.Snippet {
    var plain: [UInt8] = []
    var ranges: [Range<Int>] = []
    var start = 0
    for byte in bytes {
      switch byte {
      case open: start = plain.count
      case close: ranges.append(start..<plain.count)
      case cut: plain += "…".utf8
      default: plain.append(byte)
      }
    }
    return RankedMatches.Snippet(text: String(decoding: plain, as: UTF8.self), ranges: ranges)
  }
}
