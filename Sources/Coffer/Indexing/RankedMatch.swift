/// Some of a text, with the places that a search found, as ranges of UTF-8 bytes.
public struct HighlightedText: Sendable, Hashable {
  /// The excerpt.
  public let text: String
  /// The places in ``text``, as ranges of its UTF-8 bytes, in order.
  public let ranges: [Range<Int>]
}

/// A document that a ranked search found.
public struct RankedMatch: Sendable, Hashable {
  /// The document without its text.
  public let header: DocumentHeader
  /// How well the document matches, above 0: Okapi BM25 over the current documents of the collection.
  public let score: Double
  /// The places in the title.
  public let titleRanges: [Range<Int>]
  /// About 24 words of the text around the best places; of a stored value, of its strings, one a line. nil if the
  /// search was not asked for it.
  public let snippet: HighlightedText?
}

/// The place of a page in the result of a ranked search.
public struct RankedCursor: Sendable, Hashable {
  let generation: UInt64
  let query: String
  let collection: String
  let rank: Double
  let id: DocumentID
}

/// A page of a ranked search: the best matches behind the cursor that was given, the best first, then by id.
public struct RankedMatches: Sendable, Hashable {
  /// The matches of this page, the best first, then by id; empty if nothing matches.
  public let matches: [RankedMatch]
  /// The number of matches on all pages.
  public let total: Int
  /// The generation of the store that all pages of this search belong to.
  public let generation: UInt64
  /// For the next page; nil on the last one.
  public let next: RankedCursor?
}
