internal import CofferEngine
internal import CofferRecords
internal import CofferSearch

extension StoreReading where Self: ~Copyable {
  /// Returns the documents of a collection that best match words, sorted by score, then by ID.
  ///
  /// Requires a words index, which you declare with `DocumentStore.index`. Changed documents are added to the index in
  /// memory, so results are always current.
  ///
  /// The words use SQLite's FTS5 syntax: `sealed store` (both), `sealed OR store`, `sealed NOT store`, parentheses,
  /// `"sealed store"` (a phrase), `seal*` (a prefix), `NEAR(sealed store, 5)`, `title: sealed`, `names: jpg`
  /// (attachment names). The score is BM25 over the current documents. Only the texts of the page's documents are
  /// decrypted. ``DocumentIndex/words(in:keepingDiacritics:)`` describes which words are equal. A query can have at
  /// most 4,096 bytes, 128 words and 10 levels of parentheses, and a repeated word counts once.
  ///
  /// - Parameters:
  ///   - words: The words in FTS5 syntax. For words that a user has typed, pass ``RankedMatches/query(quoting:)``.
  ///   - collection: The collection. If it's missing, it doesn't have an index.
  ///   - limit: The maximum number of returned documents.
  ///   - cursor: The previous page's ``RankedMatches/next``.
  ///   - withSnippets: Whether to return the matches in title, text and names, which decrypts the page's texts.
  /// - Returns: A page of matches with the total number of matches. The page is empty if nothing matches.
  /// - Throws: `noIndex`. `invalidArgument` with the location of a syntax error, or for a longer query. `misuse` for a cursor of another
  ///   generation or search. `indexBehind` if changes need more memory than ``OpenOptions/indexMemoryBytes``.
  ///   `damaged`.
  public func search(
    ranked words: String, in collection: DocumentCollection, limit: Int = 20, after cursor: RankedMatches.Cursor? = nil,
    withSnippets: Bool = true
  ) throws(StoreError) -> RankedMatches {
    try RankedSearch(transaction).search(
      ranked: words, in: collection, limit: limit, after: cursor, withSnippets: withSnippets)
  }
}
