internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// A ranked search query in FTS5 syntax, which can locate its syntax errors.
struct WordQuery {
  private let query: String

  init(_ query: String) {
    self.query = query
  }

  /// The maximum query size in bytes, because FTS5's time grows with the square of the number of phrases.
  private static let maximumByteCount = 4096

  /// Rejects queries that FTS5 can't handle.
  func check() throws(StoreError) {
    guard !query.utf8.contains(0) else {
      throw StoreError(.invalidArgument, "the words to search for hold a NUL character (U+0000)")
    }
    guard query.utf8.count <= Self.maximumByteCount else {
      throw StoreError(.invalidArgument, "the words to search for have more than \(Self.maximumByteCount) bytes")
    }
    // FTS5 treats a leading asterisk as a command instead of a query.
    guard query.utf8.first != UInt8(ascii: "*") else {
      throw StoreError(
        .invalidArgument, "the words can't be searched for: the error is at character 1",
        hint: "a star ends the beginning of a word, as in seal*")
    }
  }

  /// Returns the error for a query that FTS5 rejected, with the position but without quoting the query.
  func error(_ database: Database, _ table: String) -> StoreError {
    let message = database.lastMessage ?? ""
    let hint: ErrorHint = "put words with other characters than letters and digits in double quotes"
    let noColumn = "no such column: "
    if message.hasPrefix(noColumn) {
      let name = String(message.dropFirst(noColumn.count))
      let place = place(ofColumn: name, message, database, table)
      return StoreError(
        .invalidArgument, "the words name a column other than title and text\(Self.said(place))", hint: hint)
    }
    if message.contains("too large") || message.contains("overflow") {
      return StoreError(.tooLarge, "the words are nested too deeply to be searched for")
    }
    if message.hasPrefix("unterminated string") {
      let place = unclosedQuotePosition.map { " at character \($0)" } ?? ""
      return StoreError(
        .invalidArgument, "the words can't be searched for: a quotation has no end\(place)",
        hint: "close it, or write \"\" for a quotation mark in it")
    }
    let prefix = "fts5: syntax error near \""
    guard message.hasPrefix(prefix), message.hasSuffix("\"") else {
      return StoreError(.invalidArgument, "the words can't be searched for", hint: hint)
    }
    let near = String(message.dropFirst(prefix.count).dropLast())
    guard !near.isEmpty else {
      return StoreError(.invalidArgument, "the words to search for end too early", hint: hint)
    }
    let place = place(of: near, message, database, table)
    return StoreError(.invalidArgument, "the words can't be searched for\(Self.said(place))", hint: hint)
  }

  private static func said(_ place: Int?) -> String {
    place.map { ": the error is at character \($0)" } ?? ""
  }

  /// The position of an unclosed quotation mark, counted in characters from 1.
  private var unclosedQuotePosition: Int? {
    var open: Int?
    for (index, character) in query.enumerated() where character == "\"" { open = open == nil ? index + 1 : nil }
    return open
  }

  /// Returns the position of the rejected token's first character, counted from 1.
  ///
  /// FTS5 reports the token without its position. A query that ends after the token fails with the same message.
  private func place(of token: String, _ message: String, _ database: Database, _ table: String) -> Int? {
    let (scalars, token) = (Array(query.unicodeScalars), Array(token.unicodeScalars))
    guard !token.isEmpty else { return nil }
    let starts = scalars.indices.dropLast(token.count - 1).filter { scalars[$0...].starts(with: token) }
    let start = starts.prefix(Self.tries).first {
      fails(Self.text(scalars[..<($0 + token.count)]), message, database, table)
    }
    return start.map { Self.text(scalars[..<$0]).count + 1 }
  }

  /// Returns the position of an unknown column, which is the last matching name before the colon that causes the error.
  private func place(ofColumn name: String, _ message: String, _ database: Database, _ table: String) -> Int? {
    let (scalars, name) = (Array(query.unicodeScalars), Array(name.unicodeScalars))
    guard !name.isEmpty else { return nil }
    let colons = scalars.indices.filter { scalars[$0] == ":" }
    let colon = colons.prefix(Self.tries).first { fails(Self.text(scalars[...$0]) + " x", message, database, table) }
    guard let colon, colon >= name.count else { return nil }
    let start = (0...(colon - name.count)).last { scalars[$0..<colon].starts(with: name) }
    return start.map { Self.text(scalars[..<$0]).count + 1 }
  }

  /// The maximum number of queries to try when locating an error.
  private static let tries = 64

  private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(scalars))
  }

  private func fails(_ words: String, _ message: String, _ database: Database, _ table: String) -> Bool {
    guard let statement = try? database.statement("SELECT 1 FROM main.\(table) WHERE \(table) MATCH ?") else {
      return false
    }
    defer { statement.reset() }
    do {
      try statement.bind(words, at: 1)
      _ = try statement.step()
      return false
    } catch {
      return database.lastMessage == message
    }
  }
}
