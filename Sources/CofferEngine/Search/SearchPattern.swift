internal import CofferPatterns
internal import CofferRecords

/// A text or regular expression to search for in titles and texts.
///
/// The search compares bytes, so a composed `é` doesn't match a decomposed `é` unless the pattern ignores
/// ``Differences/composition``. Searching doesn't convert documents to Strings.
public struct SearchPattern: Sendable {
  let compiled: Pattern
  /// The text to find, or `nil` for a regular expression.
  package let literal: String?

  /// Creates a pattern that matches a text exactly, or ignores some differences.
  ///
  /// ```swift
  /// let cafes = try store.search(for: .text("cafe", ignoring: [.case, .diacritics]), in: "notes")  // "Café", too
  /// ```
  ///
  /// - Throws: `invalidArgument` if the text is empty or contains only ignored marks, or `tooLarge` if it exceeds a few
  ///   thousand letters and differences are ignored.
  public static func text(_ text: String, ignoring differences: SearchPattern.Differences = []) throws(StoreError)
    -> SearchPattern
  {
    try compiling(text) { () throws(PatternError) in try Pattern.text(text, ignoring: differences.ignored) }
  }

  /// Creates a pattern from a regular expression. The search time is always proportional to the text.
  ///
  /// Syntax: `.` (any character except line ends), `[…]` `[^…]`, `( )` `(?: )`, `|`, `*` `+` `?` `{m}` `{m,}` `{m,n}`,
  /// `^` `$` at lines, `\A` `\z` at the start and end of the text, `\b` `\B`, `\d` (0–9), `\w` `\s` (Unicode) and their
  /// capitals, `\n` `\r` `\t` `\xHH` `\uHHHH` `\u{H…}`. The search finds the leftmost and then longest of overlapping
  /// matches. Back-references and lookaround aren't supported. Case is the only difference that can be ignored, scalar
  /// by scalar.
  ///
  /// - Throws: `invalidArgument` with the position of a syntax error, or if the pattern ignores diacritics or
  ///   composition. `tooLarge` if the expression is too large.
  public static func regularExpression(_ pattern: String, ignoring differences: SearchPattern.Differences = [])
    throws(StoreError) -> SearchPattern
  {
    try compiling { () throws(PatternError) in try Pattern.regularExpression(pattern, ignoring: differences.ignored) }
  }

  private static func compiling(_ text: String? = nil, _ compile: () throws(PatternError) -> Pattern) throws(StoreError)
    -> SearchPattern
  {
    do throws(PatternError) {
      return SearchPattern(compiled: try compile(), literal: text)
    } catch {
      throw StoreError(error)
    }
  }

  private init(compiled: Pattern, literal: String?) {
    self.compiled = compiled
    self.literal = literal
  }

  /// Differences between texts that a search ignores. Without any, texts are compared byte by byte.
  ///
  /// With ``diacritics`` or ``composition``, characters are compared. A character is a scalar with its following marks,
  /// and the vowel signs and Hangul letters that join it. A match begins and ends at character boundaries, so it
  /// doesn't depend on a text's composition. For example, with ``composition`` alone, `e` doesn't match either form of
  /// `é`.
  public struct Differences: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// Uppercase and lowercase, by Unicode's full case folding: `straße` matches `STRASSE`.
    public static let `case` = Differences(rawValue: 1)
    /// Marks and composition: `cafe` matches `café`, and `и` matches `й`.
    ///
    /// A mark is a scalar of category Mn after canonical decomposition, such as an accent, a Hebrew point, an Arabic
    /// vowel or an Indic vowel sign. The strokes of `ø` and `ł` are parts of letters, so these letters remain
    /// different.
    public static let diacritics = Differences(rawValue: 2)
    /// Canonically equivalent spellings. A composed `é` matches `e` with a combining acute accent, and the reverse.
    public static let composition = Differences(rawValue: 4)

    fileprivate var ignored: TextDifferences { TextDifferences(rawValue: rawValue).intersection(.all) }
  }

  /// The parts of a document to search.
  public struct Fields: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// Texts, including the strings of stored values (``DocumentHeader/isJSON``). The strings are searched with escapes
    /// resolved, but without member names and numbers.
    ///
    /// If a text is marked as a value but isn't a single JSON value (RFC 8259, at most 512 levels, no escaped unpaired
    /// surrogates), it's searched as plain text.
    public static let text = SearchPattern.Fields(rawValue: 1)
    /// Titles. Searching only titles doesn't open texts.
    public static let title = SearchPattern.Fields(rawValue: 2)
    /// The member names of stored values. With ``attributes``, attribute names are included.
    public static let memberNames = SearchPattern.Fields(rawValue: 4)
    /// The strings in attributes. Searching only attributes doesn't open texts.
    public static let attributes = SearchPattern.Fields(rawValue: 8)
    /// The names of attachments. Searching them opens the row of each attachment in the store, but no content.
    public static let attachmentNames = SearchPattern.Fields(rawValue: 16)
    /// Texts, titles and names of attachments, without attributes or member names.
    public static let all: SearchPattern.Fields = [.text, .title, .attachmentNames]

    /// Whether the search needs the texts of documents.
    package var opensTexts: Bool { !isDisjoint(with: [.text, .memberNames]) }
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

/// A document that matches the pattern.
public struct SearchMatch: Sendable, Hashable {
  /// The document without its text.
  public let header: DocumentHeader
  /// The matches in the title, as at most 100 ranges of UTF-8 bytes.
  public let titleRanges: [Range<Int>]
  /// The matches in the text, as at most 100 ranges of UTF-8 bytes. Stored values have matches in ``values`` instead.
  ///
  /// All ranges are missing if finding the exact matches of an expression takes too long.
  public let textRanges: [Range<Int>]
  /// The matching strings of a stored value in order, with at most 100 ranges in total.
  public let values: [SearchMatch.Value]
  /// The matching strings in the attributes in order, with at most 100 ranges in total.
  public let attributes: [SearchMatch.Value]
  /// The attachments with matching names, in the order of their numbers. A damaged attachment isn't found.
  public let attachments: [SearchMatch.AttachmentName]

  /// The name of an attachment that matches the pattern.
  public struct AttachmentName: Sendable, Hashable {
    /// The attachment.
    public let attachment: Attachment.ID
    /// The whole name.
    public let name: String
    /// The matches, as at most 100 ranges of UTF-8 bytes in the name.
    public let ranges: [Range<Int>]

    package init(attachment: Attachment.ID, name: String, ranges: [Range<Int>]) {
      (self.attachment, self.name, self.ranges) = (attachment, name, ranges)
    }
  }

  /// A string in a stored value or attributes that matches the pattern.
  public struct Value: Sendable, Hashable {
    /// The path to the string, or to the member if its name matches. A path finds the first of several equal names.
    public let path: JSONPath
    /// A Boolean value that indicates whether the matches are in the member's name instead of its value.
    public let isMemberName: Bool
    /// The matches, as ranges of UTF-8 bytes in the unescaped string.
    public let ranges: [Range<Int>]
    /// The string's range in the JSON of the text or attributes, in UTF-8 bytes without the quotes.
    public let place: Range<Int>
  }
}
