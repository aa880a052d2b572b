internal import CofferEngine
internal import CofferPatterns
internal import CofferRecords

/// A parsed ranked search query with words and operators in FTS5's syntax.
///
/// FTS5 gets the query in a normal form without repeated operands. The limits bound the steps that FTS5 can't
/// interrupt, which are the steps within a document.
struct WordQuery {
  /// The maximum query size in bytes.
  static let maximumByteCount = 4096
  /// The maximum number of words in all phrases, which also bounds phrases and operators. Repeated operands count once.
  static let maximumWordCount = 128
  /// The maximum number of a query's words that a single word in a text can match. FTS5 compares each of them with each
  /// occurrence in a document, so this bounds the time and memory of an uninterruptible step. Gaps between single
  /// characters count only for ``maximumWordCount``.
  static let maximumRepetitions = 24
  /// The maximum depth of parentheses. FTS5's parser has a stack of 100 entries, and a level takes up to 7 of them.
  static let maximumDepth = 10

  /// A phrase in the order of the normal form.
  struct Phrase {
    let phrase: WordPhrase
    /// The number of the NEAR group that contains the phrase, and its distance.
    let group: (number: Int, distance: Int)?
    /// Whether the phrase adds to the score and is marked, because it isn't after NOT or a repetition.
    let counts: Bool
  }

  /// The query for FTS5, or `nil` if it doesn't find anything.
  let normalForm: String?
  /// The phrases of the normal form.
  private(set) var phrases: [Phrase] = []

  /// Parses a query.
  ///
  /// - Throws: `invalidArgument` with the location of a syntax error, or for a query beyond the limits.
  init(_ query: String, _ words: WordScan) throws(StoreError) {
    guard !query.utf8.contains(0) else {
      throw StoreError(.invalidArgument, "the words to search for hold a NUL character (U+0000)")
    }
    guard query.utf8.count <= Self.maximumByteCount else {
      throw StoreError(
        .invalidArgument, "the words to search for have more than \(Self.maximumByteCount) bytes",
        hint: "search for fewer words")
    }
    guard !query.isEmpty else {
      normalForm = nil
      return
    }
    let tree = try WordQueryParser.parse(query, words)
    let count = tree.words.count
    guard count <= Self.maximumWordCount else {
      throw StoreError(
        .invalidArgument,
        "the search is for \(count) words, more than \(Self.maximumWordCount); in scripts without spaces, each character is a word",
        hint: "search for fewer words")
    }
    guard Self.repetitions(of: tree.words) <= Self.maximumRepetitions else {
      throw StoreError(
        .invalidArgument, "the search is for the same word more than \(Self.maximumRepetitions) times",
        hint: "search for shorter phrases")
    }
    normalForm = tree == .nothing ? nil : tree.text
    var known: Set<[WordTree]> = []
    var groups = 0
    collect(tree, isNegated: false, &known, &groups)
  }

  /// Returns the number of words that a single word in a text can match.
  private static func repetitions(of words: [WordPhrase.Word]) -> Int {
    let words = words.filter { !$0.form.withUnsafeBytes(WordScan.isGap) }
    return Set(words.map(\.form)).map { form in
      words.count { $0.isPrefix ? form.starts(with: $0.form) : form == $0.form }
    }.max() ?? 0
  }

  private mutating func collect(_ tree: WordTree, isNegated: Bool, _ known: inout Set<[WordTree]>, _ groups: inout Int)
  {
    switch tree {
    case .nothing: break
    case .phrase(let phrase):
      phrases.append(Phrase(phrase: phrase, group: nil, counts: !isNegated && known.insert([tree]).inserted))
    case .near(let members, let distance):
      for member in members {
        let isNew = !isNegated && known.insert([tree, .phrase(member)]).inserted
        phrases.append(Phrase(phrase: member, group: (groups, distance), counts: isNew))
      }
      groups += 1
    case .all(let operands), .any(let operands):
      for operand in operands { collect(operand, isNegated: isNegated, &known, &groups) }
    case .difference(let wanted, let unwanted):
      collect(wanted, isNegated: isNegated, &known, &groups)
      collect(unwanted, isNegated: true, &known, &groups)
    }
  }
}
