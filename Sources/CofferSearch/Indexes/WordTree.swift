internal import CofferDocuments

/// The columns of a word index.
struct WordColumns: OptionSet, Hashable {
  let rawValue: UInt8

  static let title = WordColumns(rawValue: 1)
  static let text = WordColumns(rawValue: 2)
  /// The attachments' names.
  static let names = WordColumns(rawValue: 4)
  static let all: WordColumns = [.title, .text, .names]

  /// The columns by their names.
  static let named: [(name: String, column: WordColumns)] = [("title", .title), ("text", .text), ("names", .names)]
}

/// A phrase of at least one word. Phrases are equal if they have the same words.
struct WordPhrase: Hashable {
  /// A word in its folded form.
  struct Word: Hashable {
    let form: [UInt8]
    /// Whether a star follows, so the word matches the beginning of a word in the text.
    var isPrefix = false
  }

  /// A string in the query, and whether a star follows it.
  struct Part {
    let text: String
    var isPrefix: Bool
  }

  var columns: WordColumns
  var words: [Word] = []
  /// Whether the phrase must begin a title or text.
  var isAtStart = false
  /// The strings in which FTS5 finds `words`.
  var parts: [Part] = []

  static func == (one: WordPhrase, other: WordPhrase) -> Bool {
    one.words == other.words && one.columns == other.columns && one.isAtStart == other.isAtStart
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(words)
    hasher.combine(columns)
    hasher.combine(isAtStart)
  }

  /// The phrase in FTS5's syntax, without its columns.
  var text: String {
    (isAtStart ? "^ " : "")
      + parts.map { "\"\($0.text.replacing(ascii: "\"", with: "\"\""))\"" + ($0.isPrefix ? " *" : "") }.joined(
        separator: " + ")
  }
}

/// A query as a tree of operators without repeated operands.
indirect enum WordTree: Hashable {
  case nothing
  case phrase(WordPhrase)
  case near([WordPhrase], distance: Int)
  case all([WordTree])
  case any([WordTree])
  case difference(WordTree, WordTree)

  /// Returns the intersection of the operands' results.
  static func intersection(_ operands: [WordTree]) -> WordTree {
    let operands = unique(operands.flatMap { if case .all(let inner) = $0 { inner } else { [$0] } })
    guard !operands.contains(.nothing) else { return .nothing }
    return operands.count == 1 ? operands[0] : .all(operands)
  }

  /// Returns the union of the operands' results.
  static func union(_ operands: [WordTree]) -> WordTree {
    let operands = unique(operands.flatMap { if case .any(let inner) = $0 { inner } else { [$0] } })
      .filter { $0 != .nothing }
    return operands.isEmpty ? .nothing : operands.count == 1 ? operands[0] : .any(operands)
  }

  /// Returns the first operand's results without the other operands' results.
  static func difference(_ operands: [WordTree]) -> WordTree {
    var (wanted, unwanted) = (operands[0], operands.dropFirst())
    if case .difference(let inner, let outer) = wanted { (wanted, unwanted) = (inner, [outer] + unwanted) }
    let all = union(Array(unwanted))
    return wanted == .nothing || all == .nothing ? wanted : .difference(wanted, all)
  }

  private static func unique(_ operands: [WordTree]) -> [WordTree] {
    var known: Set<WordTree> = []
    return operands.filter { known.insert($0).inserted }
  }

  /// The words in all phrases.
  var words: [WordPhrase.Word] {
    switch self {
    case .nothing: []
    case .phrase(let phrase): phrase.words
    case .near(let members, _): members.flatMap(\.words)
    case .all(let operands), .any(let operands): operands.flatMap(\.words)
    case .difference(let wanted, let unwanted): wanted.words + unwanted.words
    }
  }

  /// The tree in FTS5's syntax.
  var text: String {
    switch self {
    case .nothing: "\"\""
    case .phrase(let phrase): Self.filter(phrase.columns) + phrase.text
    case .near(let members, let distance):
      Self.filter(members[0].columns) + "NEAR(\(members.map(\.text).joined(separator: " ")), \(distance))"
    case .all(let operands): operands.map { $0.text(within: 2) }.joined(separator: " AND ")
    case .any(let operands): operands.map { $0.text(within: 1) }.joined(separator: " OR ")
    case .difference(let wanted, let unwanted): wanted.text(within: 3) + " NOT " + unwanted.text(within: 4)
    }
  }

  /// Returns the text in parentheses if the operator has a lower precedence than the outer operator.
  private func text(within outer: Int) -> String {
    let own =
      switch self {
      case .any: 1
      case .all: 2
      case .difference: 3
      case .nothing, .phrase, .near: 4
      }
    return own < outer ? "(\(text))" : text
  }

  private static func filter(_ columns: WordColumns) -> String {
    guard columns != .all else { return "" }
    let names = WordColumns.named.filter { columns.contains($0.column) }.map(\.name)
    return names.count == 1 ? "\(names[0]) : " : "{\(names.joined(separator: " "))} : "
  }
}
