internal import CofferDocuments
internal import CofferRecords
internal import CofferSQLite

/// Finds the places of a query in some opened documents: FTS5 itself, over a table in memory that holds these alone.
final class Highlighter {
  let keepsDiacritics: Bool
  private let database: Database
  private let text = IndexedText()

  // Bytes that no UTF-8 has.
  private static let open: UInt8 = 0xFE
  private static let close: UInt8 = 0xFF
  private static let cut: UInt8 = 0xFD
  private static let snippetWords = 24
  /// The bytes of texts that are searched at a time.
  private static let batchBytes = 1 << 20

  /// The bytes of the added documents' texts; nil if none was added.
  private var pending: Int?

  init(keepsDiacritics: Bool) throws(StoreError) {
    self.keepsDiacritics = keepsDiacritics
    do throws(SQLiteError) {
      database = try Database.scratch()
      try database.execute("PRAGMA secure_delete = ON")
      try database.execute(
        """
        CREATE VIRTUAL TABLE hits USING fts5(title, text,
          tokenize='unicode61 remove_diacritics \(keepsDiacritics ? 0 : 2)')
        """)
    } catch {
      throw StoreError(error)
    }
  }

  /// Whether the pending documents are to be searched before others are added.
  var isFull: Bool { pending ?? 0 >= Self.batchBytes }

  /// Adds a document.
  func add(_ header: DocumentHeader, _ text: UnsafeRawBufferPointer) throws(StoreError) {
    let result = self.text.with(text, isValue: header.isJSON) { text in
      Result { () throws(SQLiteError) in try insert(header.id.rawValue, header.title ?? "", text) }
    }
    do throws(SQLiteError) { try result.get() } catch { throw StoreError(error) }
  }

  private func insert(_ id: Int64, _ title: String, _ text: UnsafeRawBufferPointer) throws(SQLiteError) {
    if pending == nil { try database.begin(.immediate) }
    pending = (pending ?? 0) + text.count
    // FTS5 takes a text to end at U+0000.
    let title = title.replacing("\0", with: "\u{1}")
    guard text.contains(0) else { return try database.insertTexts(into: "hits", id, title, text) }
    let changed = text.map { $0 == 0 ? 1 : $0 }
    let result = changed.withUnsafeBytes { changed in
      Result { () throws(SQLiteError) in try database.insertTexts(into: "hits", id, title, changed) }
    }
    try result.get()
  }

  /// The matches in the titles of the added documents, and snippets of their texts, by id. The documents are removed.
  func places(_ query: String) throws(StoreError) -> [Int64: (title: [Range<Int>], snippet: HighlightedText)] {
    defer { forget() }
    var places: [Int64: (title: [Range<Int>], snippet: HighlightedText)] = [:]
    guard pending != nil else { return places }
    do throws(SQLiteError) {
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
    } catch {
      throw StoreError(error)
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

  /// Takes the marks out of a text.
  private static func unmarked(_ bytes: UnsafeRawBufferPointer) -> HighlightedText {
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
    return HighlightedText(text: String(decoding: plain, as: UTF8.self), ranges: ranges)
  }
}
