internal import CofferPatterns
internal import CofferRecords

/// A text or a regular expression to search for in titles and texts.
///
/// Bytes are compared: a composed `é` does not find a decomposed one unless the pattern ignores
/// ``TextDifferences/composition``. A search makes no String of any document.
public struct SearchPattern: Sendable {
  let compiled: Pattern
  /// The text to find; nil for an expression.
  let text: String?

  /// A text, found exactly, or with some differences ignored.
  ///
  /// ```swift
  /// let cafes = try store.search(for: .text("cafe", ignoring: [.case, .diacritics]), in: notes)  // "Café", too
  /// ```
  ///
  /// - Throws: `invalidArgument` for an empty text, and for one of nothing but ignored marks; `tooLarge` beyond a few
  ///   thousand letters when differences are ignored.
  public static func text(_ text: String, ignoring differences: TextDifferences = []) throws(StoreError)
    -> SearchPattern
  {
    try compiling(text) { () throws(PatternError) in try Pattern.text(text, ignoring: differences) }
  }

  /// A regular expression. Search time grows only with the text, for every expression.
  ///
  /// Syntax: `.` (anything within a line), `[…]` `[^…]`, `( )` `(?: )`, `|`, `*` `+` `?` `{m}` `{m,}` `{m,n}`, `^` `$`
  /// at lines, `\A` `\z` at the text's ends, `\b` `\B`, `\d` (0–9), `\w` `\s` (Unicode's) and their capitals, `\n` `\r`
  /// `\t` `\xHH` `\uHHHH` `\u{H…}`. Among overlapping matches, the leftmost and then longest is found. Back-references
  /// and lookaround are not supported. Case is the only difference that can be ignored, scalar by scalar.
  ///
  /// - Throws: `invalidArgument` with the place, and for diacritics or composition to be ignored; `tooLarge`.
  public static func regularExpression(_ pattern: String, ignoring differences: TextDifferences = [])
    throws(StoreError) -> SearchPattern
  {
    try compiling { () throws(PatternError) in try Pattern.regularExpression(pattern, ignoring: differences) }
  }

  private static func compiling(_ text: String? = nil, _ compile: () throws(PatternError) -> Pattern) throws(StoreError)
    -> SearchPattern
  {
    do throws(PatternError) {
      return SearchPattern(compiled: try compile(), text: text)
    } catch {
      throw StoreError(error)
    }
  }

  private init(compiled: Pattern, text: String?) {
    self.compiled = compiled
    self.text = text
  }
}

extension StoreError {
  fileprivate init(_ error: PatternError) {
    switch error.code {
    case .empty, .unsupported: self.init(.invalidArgument, error.message)
    case .tooLarge: self.init(.tooLarge, error.message)
    case .syntax:
      let place = error.place.map { " at character \($0)" } ?? ""
      self.init(.invalidArgument, "the regular expression can't be read\(place): \(error.message)")
    }
  }
}

/// The parts of a document to search.
public struct SearchFields: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// Texts; of stored values (``DocumentHeader/isJSON``) their strings, as an app reads them: escapes are resolved, and
  /// neither names of members nor numbers are looked at.
  ///
  /// A text that is marked as a value and is not one JSON value (RFC 8259, at most 512 levels, no escape of an unpaired
  /// surrogate) is searched like any other text.
  public static let text = SearchFields(rawValue: 1)
  /// Searching titles alone opens no text.
  public static let title = SearchFields(rawValue: 2)
  /// The names of the members of stored values; with ``attributes``, names of attributes too.
  public static let memberNames = SearchFields(rawValue: 4)
  /// The strings of attributes. Searching attributes alone opens no text.
  public static let attributes = SearchFields(rawValue: 8)
  /// Texts and titles, without attributes and the names of members.
  public static let all: SearchFields = [.text, .title]

  /// Whether the search needs the texts of documents.
  var opensTexts: Bool { !isDisjoint(with: [.text, .memberNames]) }
}

/// A document that holds the pattern.
public struct SearchMatch: Sendable, Hashable {
  /// The document without its text.
  public let header: DocumentHeader
  /// The matches in the title, as ranges of UTF-8 bytes: at most 100.
  public let titleRanges: [Range<Int>]
  /// The matches in the text, likewise; none for a stored value, which has ``values``.
  ///
  /// All ranges are missing if finding the exact ones of an expression takes too long.
  public let textRanges: [Range<Int>]
  /// The strings of a stored value that hold matches, in order, with at most 100 ranges in all.
  public let values: [ValueMatch]
  /// The strings of the attributes that hold matches, likewise.
  public let attributes: [ValueMatch]
}

/// A string of a stored value, or of attributes, that holds the pattern.
public struct ValueMatch: Sendable, Hashable {
  /// The path to the string; for the name of a member, the path to that member. If two members have one name, a
  /// path finds the first.
  public let path: JSONPath
  /// The matches are in the name of the member, not in its value.
  public let isMemberName: Bool
  /// The matches, as ranges of UTF-8 bytes of the string, its escapes resolved.
  public let ranges: [Range<Int>]
  /// The string in the JSON of the text or of the attributes, without its quotes, as a range of UTF-8 bytes.
  public let place: Range<Int>
}
