internal import CofferPatterns
internal import CofferSQLite

/// The tokenizer for word indexes, which folds words like a search (Index-Format, "Words").
final class WordTokenizer: FullTextTokenizer {
  private static let name = "coffer_words"
  private static let keepingDiacritics = "keep_diacritics"

  private let words: WordScan

  private init(keepingDiacritics: Bool) {
    words = WordScan(keepingDiacritics: keepingDiacritics)
  }

  func tokenize(_ text: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer, Range<Int>) -> Bool) {
    words.forEachWord(in: text, give)
  }

  /// Returns the tokenizer's part of a table's declaration.
  static func declaration(keepingDiacritics keeps: Bool) -> String {
    keeps ? "\(name) \(keepingDiacritics)" : name
  }

  static func add(to database: Database) throws(SQLiteError) {
    try database.addTokenizer(named: name) { arguments in
      switch arguments {
      case []: WordTokenizer(keepingDiacritics: false)
      case [keepingDiacritics]: WordTokenizer(keepingDiacritics: true)
      default: nil
      }
    }
  }
}
