internal import CofferDocuments
public import CofferEngine
internal import CofferPatterns

/// A page of ranked search results, which starts after the given cursor.
public struct RankedMatches: Sendable, Hashable {
  /// The matches on this page, which can be empty, sorted by descending score and then by ID.
  public let matches: [RankedMatches.Match]
  /// The number of matches on all pages.
  public let total: Int
  /// The store generation that all pages belong to.
  public let generation: UInt64
  /// The cursor for the next page, or `nil` on the last page.
  public let next: RankedMatches.Cursor?

  /// Returns a query for a text typed by a user, without interpreting characters as operators.
  ///
  /// Each part of the text between spaces becomes a phrase, and a document must contain all of them:
  ///
  /// ```swift
  /// let page = try store.read { try $0.search(ranked: RankedMatches.query(quoting: "don't POL-358"), in: "notes") }
  /// ```
  ///
  /// Only letters and digits are compared, so `POL-358` also finds `Pol 358`, and `C++` also finds `C`. To find words
  /// that begin with the last part, append `*` to the query. A text without letters and digits doesn't find anything,
  /// and the search rejects a text with more than 128 different words.
  public static func query(quoting text: String) -> String {
    let parts = text.unicodeScalars.split { $0.properties.isWhitespace || $0 == "\0" }.map { part in
      // After a space, marks aren't a word, but at the beginning of a phrase they are.
      part.startIndex == text.startIndex ? String(part) : String(part.drop(while: WordScan.isMark))
    }
    guard !parts.isEmpty else { return "\"\"" }
    return parts.map { "\"" + $0.replacing(ascii: "\"", with: "\"\"") + "\"" }.joined(separator: " ")
  }

  /// The position of a page in a ranked search result.
  public struct Cursor: Sendable, Hashable {
    let generation: UInt64
    let query: String
    let collection: String
    let rank: Double
    let id: DocumentID
  }

  /// A document found by a ranked search.
  public struct Match: Sendable, Hashable {
    /// The document without its text.
    public let header: DocumentHeader
    /// The relevance score, greater than 0 (Okapi BM25 over the collection's current documents).
    public let score: Double
    /// The matching ranges in the title as UTF-8 byte offsets.
    public let titleRanges: [Range<Int>]
    /// An excerpt with about 24 words around the first place with most of the query's phrases, or `nil` if the search
    /// didn't request snippets. It has at most about 2,048 bytes. For a stored value, the excerpt is from its strings,
    /// one per line.
    public let snippet: RankedMatches.Snippet?
    /// The attachments with matching names, in the order in which they were attached. The array is empty if the search
    /// didn't request snippets.
    public let attachments: [SearchMatch.AttachmentName]
  }

  /// An excerpt from a text with the ranges that match a search.
  public struct Snippet: Sendable, Hashable {
    /// The excerpt.
    public let text: String
    /// The matching ranges in ``text`` as UTF-8 byte offsets, in order.
    public let ranges: [Range<Int>]
  }
}
