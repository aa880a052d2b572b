internal import CofferEngine
internal import CofferPatterns
internal import CofferRecords

/// A parser for FTS5's query syntax, which locates errors.
///
///     any:        all { OR all }
///     all:        difference { AND difference }
///     difference: operand { NOT operand }
///     operand:    [columns ":"] "(" any ")" | list
///     list:       near { near }, each with [columns ":"] in front
///     near:       "^" phrase | phrase | NEAR "(" phrase { phrase } ["," number] ")"
///     phrase:     string ["*"] { "+" string ["*"] }
///     columns:    ["-"] string | ["-"] "{" string { string } "}"
struct WordQueryParser {
  private let query: [UInt8]
  private let words: WordScan
  private var tokens: [WordQueryToken]
  private var place = 0
  private var depth = 0

  static func parse(_ query: String, _ words: WordScan) throws(StoreError) -> WordTree {
    var parser = WordQueryParser(query: Array(query.utf8), words)
    let tree = try parser.any(.all)
    guard parser.next.kind == .end else { throw parser.unexpected(parser.next) }
    return tree
  }

  private init(query: [UInt8], _ words: WordScan) {
    self.query = query
    self.words = words
    tokens = WordQueryToken.tokens(of: query)
  }

  // MARK: Operators

  private mutating func any(_ columns: WordColumns) throws(StoreError) -> WordTree {
    var operands = [try all(columns)]
    while take(.or) { operands.append(try all(columns)) }
    return .union(operands)
  }

  private mutating func all(_ columns: WordColumns) throws(StoreError) -> WordTree {
    var operands = [try difference(columns)]
    while take(.and) { operands.append(try difference(columns)) }
    return .intersection(operands)
  }

  private mutating func difference(_ columns: WordColumns) throws(StoreError) -> WordTree {
    var operands = [try operand(columns)]
    while take(.not) { operands.append(try operand(columns)) }
    return .difference(operands)
  }

  private mutating func operand(_ columns: WordColumns) throws(StoreError) -> WordTree {
    var filter = try self.columns()
    if take(.open) {
      depth += 1
      guard depth <= WordQuery.maximumDepth else {
        throw StoreError(
          .invalidArgument, "the words are in more than \(WordQuery.maximumDepth) levels of parentheses",
          hint: "leave out some of the parentheses")
      }
      let tree = try any(columns.intersection(filter ?? .all))
      try require(.close)
      depth -= 1
      return tree
    }
    // Omit phrases without words from a list, unless the list doesn't contain anything else.
    var operands: [WordTree] = []
    repeat {
      if let tree = try near(columns.intersection(filter ?? .all)) { operands.append(tree) }
      guard [.string, .caret, .minus, .openBrace].contains(next.kind) else { break }
      filter = try self.columns()
    } while true
    return operands.isEmpty ? .nothing : .intersection(operands)
  }

  // MARK: Columns

  private mutating func columns() throws(StoreError) -> WordColumns? {
    let isComplement = take(.minus)
    var columns: WordColumns = []
    if take(.openBrace) {
      repeat { columns.insert(try column(try require(.string))) } while next.kind == .string
      try require(.closeBrace)
    } else {
      guard isComplement || next.kind == .string && tokens[place + 1].kind == .colon else { return nil }
      columns = try column(try require(.string))
    }
    try require(.colon)
    return isComplement ? WordColumns.all.subtracting(columns) : columns
  }

  private func column(_ token: WordQueryToken) throws(StoreError) -> WordColumns {
    let name = token.string(in: query).lowercased()
    guard let found = WordColumns.named.first(where: { $0.name == name }) else {
      let start = token.range.lowerBound + (token.isQuoted ? 1 : 0)
      throw error("the words name a column other than title, text and names", at: start)
    }
    return found.column
  }

  // MARK: Phrases

  /// Returns `nil` for phrases without words.
  private mutating func near(_ columns: WordColumns) throws(StoreError) -> WordTree? {
    let function = next
    if take(.caret) {
      var phrase = try phrase(columns)
      phrase.isAtStart = true
      return Self.tree([phrase], distance: 0)
    }
    guard function.kind == .string, tokens[place + 1].kind == .open else {
      return Self.tree([try phrase(columns)], distance: 0)
    }
    guard query[function.range].elementsEqual("NEAR".utf8) else { throw unexpected(function) }
    place += 2
    var phrases: [WordPhrase] = []
    repeat { phrases.append(try phrase(columns)) } while next.kind == .string
    var distance = 10
    if take(.comma) {
      let number = try require(.string)
      let digits = query[number.range]
      guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
        throw unexpected(number)
      }
      // Texts don't have more words.
      distance = min(Int(String(decoding: digits, as: UTF8.self)) ?? .max, 1 << 29)
    }
    try require(.close)
    return Self.tree(phrases, distance: distance)
  }

  private static func tree(_ phrases: [WordPhrase], distance: Int) -> WordTree? {
    var known: Set<WordPhrase> = []
    let phrases = phrases.filter { !$0.words.isEmpty && known.insert($0).inserted }
    guard let first = phrases.first else { return nil }
    guard !first.columns.isEmpty else { return .nothing }
    return phrases.count == 1 ? .phrase(first) : .near(phrases, distance: distance)
  }

  private mutating func phrase(_ columns: WordColumns) throws(StoreError) -> WordPhrase {
    var phrase = WordPhrase(columns: columns)
    repeat {
      let token = try require(.string)
      var text = token.string(in: query)
      // After a space, marks aren't a word, as in a text.
      if !token.isQuoted, token.range.lowerBound > 0, query[token.range.lowerBound - 1] <= 0x20 {
        text = String(text.unicodeScalars.drop(while: WordScan.isMark))
      }
      var forms: [WordPhrase.Word] = []
      var copy = text
      copy.withUTF8 { utf8 in
        words.forEachWord(in: UnsafeRawBufferPointer(utf8)) { form, _ in
          forms.append(WordPhrase.Word(form: Array(form)))
          return true
        }
      }
      let isPrefix = take(.star)
      if !forms.isEmpty {
        phrase.words += forms
        phrase.parts.append(WordPhrase.Part(text: text, isPrefix: isPrefix))
      }
      // FTS5 applies the star after a string without words to the preceding word.
      guard !phrase.words.isEmpty else { continue }
      phrase.words[phrase.words.count - 1].isPrefix = isPrefix
      phrase.parts[phrase.parts.count - 1].isPrefix = isPrefix
    } while take(.plus)
    return phrase
  }

  // MARK: Tokens

  private var next: WordQueryToken { tokens[place] }

  private mutating func take(_ kind: WordQueryToken.Kind) -> Bool {
    guard next.kind == kind else { return false }
    place += 1
    return true
  }

  @discardableResult
  private mutating func require(_ kind: WordQueryToken.Kind) throws(StoreError) -> WordQueryToken {
    let token = next
    guard take(kind) else { throw unexpected(token) }
    return token
  }

  // MARK: Errors

  private func unexpected(_ token: WordQueryToken) -> StoreError {
    switch token.kind {
    case .end:
      StoreError(
        .invalidArgument, "the words to search for end too early",
        hint: "end the last operator, phrase or parenthesis, or put an operator that is a word in double quotes")
    case .unclosed:
      error(
        "the words can't be searched for: a quotation has no end", at: token.range.lowerBound, separator: " ",
        hint: "close it, or write \"\" for a quotation mark in it")
    case .star:
      error(
        "the words can't be searched for", at: token.range.lowerBound,
        hint: "a star ends the beginning of a word, as in seal*")
    default: error("the words can't be searched for", at: token.range.lowerBound)
    }
  }

  private static let hint: ErrorHint = "put words with other characters than letters and digits in double quotes"

  /// Returns an error with a position in characters, which doesn't quote the query.
  private func error(
    _ message: String, at start: Int, separator: String = ": the error is ", hint: ErrorHint = Self.hint
  ) -> StoreError {
    let character = String(decoding: query[..<start], as: UTF8.self).count + 1
    return StoreError(.invalidArgument, "\(message)\(separator)at character \(character)", hint: hint)
  }
}
