internal import CofferRecords

extension ReadScope where Self: ~Copyable {
  /// The documents of a collection that match words best, the best first, then by id.
  ///
  /// Needs an index of words, which `DocumentStore.index` declares. Documents that changed since it was written are
  /// found as they are now: they are added to the index in memory.
  ///
  /// The words follow the syntax of SQLite's FTS5: `sealed store` (both), `sealed OR store`, `sealed NOT store`,
  /// parentheses, `"sealed store"` (a phrase), `seal*` (a beginning), `NEAR(sealed store, 5)`, `title: sealed`. The
  /// score is BM25 over the current documents. Only the texts of the page's documents are opened.
  ///
  /// - Parameters:
  ///   - words: the words in FTS5's syntax.
  ///   - collection: the collection; one that doesn't exist yet has no index.
  ///   - limit: the most documents of the page.
  ///   - cursor: ``RankedMatches/next`` of the page before.
  ///   - withSnippets: finds the places in title and text, which opens the texts of the page.
  /// - Returns: a page of matches, with the number of all of them; empty if nothing matches.
  /// - Throws: `noIndex`; `invalidArgument` with the place of an error in the words; `misuse` for a cursor of another
  ///   generation or search; `indexBehind` if changes take more memory than ``OpenOptions/indexMemoryBytes``;
  ///   `damaged`.
  public func search(
    ranked words: String, in collection: DocumentCollection, limit: Int = 20, after cursor: RankedCursor? = nil,
    withSnippets: Bool = true
  ) throws(StoreError) -> RankedMatches {
    try transaction.search(
      ranked: words, in: collection, limit: limit, after: cursor, withSnippets: withSnippets)
  }
}
