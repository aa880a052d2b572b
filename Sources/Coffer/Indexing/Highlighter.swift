internal import CofferDocuments
internal import CofferRecords
internal import CofferSQLite

/// Finds the places of a query in one opened document: FTS5 itself, over a table in memory that holds that document alone.
final class Highlighter {
  let keepsDiacritics: Bool
  private let database: Database
  private let text = IndexedText()

  // Bytes that no UTF-8 has.
  private static let open: UInt8 = 0xFE
  private static let close: UInt8 = 0xFF
  private static let cut: UInt8 = 0xFD
  private static let snippetWords = 24

  init(keepsDiacritics: Bool) throws(StoreError) {
    self.keepsDiacritics = keepsDiacritics
    do throws(SQLiteError) {
      database = try Database(
        ":memory:", mode: .create,
        configuration: .init(isHardened: true, lengthLimit: Int(StoreFormat.maximumValue)))
      try database.keepTemporariesInMemory()
      try database.execute("PRAGMA secure_delete = ON")
      try database.execute(
        """
        CREATE VIRTUAL TABLE one USING fts5(title, text,
          tokenize='unicode61 remove_diacritics \(keepsDiacritics ? 0 : 2)')
        """)
    } catch {
      throw StoreError(error)
    }
  }

  /// The places in the title, and a snippet of the text.
  func highlights(_ query: String, _ header: DocumentHeader, _ text: UnsafeRawBufferPointer) throws(StoreError)
    -> (title: [Range<Int>], snippet: HighlightedText)
  {
    let result = self.text.with(text, isValue: header.isJSON) { text in
      Result { () throws(SQLiteError) in try highlights(query, header.title ?? "", text) }
    }
    do throws(SQLiteError) {
      return try result.get()
    } catch {
      throw StoreError(error)
    }
  }

  private func highlights(_ query: String, _ title: String, _ text: UnsafeRawBufferPointer) throws(SQLiteError)
    -> (title: [Range<Int>], snippet: HighlightedText)
  {
    // FTS5 takes a text to end at U+0000.
    let withoutZeros = text.contains(0) ? text.map { $0 == 0 ? 1 : $0 } : nil
    try database.begin(.immediate)
    // The document does not stay.
    defer { try? database.rollback() }
    let insert = try database.statement("INSERT INTO one(rowid,title,text) VALUES(1,?,?)")
    try insert.bind(title.replacing("\0", with: "\u{1}"), at: 1)
    if let withoutZeros {
      try insert.bind(String(decoding: withoutZeros, as: UTF8.self), at: 2)
    } else {
      try insert.bindText(text, at: 2)
    }
    defer { insert.clearBindings() }
    try insert.run()
    let marked = try database.statement(
      """
      SELECT highlight(one,0,X'\(Self.hex(Self.open))',X'\(Self.hex(Self.close))'),
        snippet(one,1,X'\(Self.hex(Self.open))',X'\(Self.hex(Self.close))',X'\(Self.hex(Self.cut))',\(Self.snippetWords))
      FROM one WHERE one MATCH ?
      """)
    defer { marked.reset() }
    try marked.bind(query, at: 1)
    guard try marked.step() else { return ([], HighlightedText(text: "", ranges: [])) }
    return (
      Self.unmarked(marked.storedTextPointer(at: 0, isUTF16: false)).ranges,
      Self.unmarked(marked.storedTextPointer(at: 1, isUTF16: false))
    )
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
