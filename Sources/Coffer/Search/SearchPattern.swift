internal import CofferPatterns
internal import CofferRecords

/// A text or a regular expression to search for in titles and texts.
///
/// Nothing is normalized: a composed pattern does not find decomposed text. A search makes no String of any document.
public struct SearchPattern: Sendable {
  let compiled: Pattern

  /// A text, found exactly, or without regard to case by Unicode's full case folding: `straße` finds `STRASSE`.
  ///
  /// - Throws: `invalidArgument` for an empty one; `tooLarge` beyond a few thousand letters without regard to case.
  public static func text(_ text: String, ignoringCase: Bool = false) throws(StoreError) -> SearchPattern {
    try compiling { () throws(PatternError) in try Pattern.text(text, ignoringCase: ignoringCase) }
  }

  /// A regular expression. Search time grows only with the text, whatever the expression.
  ///
  /// Syntax: `.` (anything within a line), `[…]` `[^…]`, `( )` `(?: )`, `|`, `*` `+` `?` `{m}` `{m,}` `{m,n}`, `^` `$`
  /// at lines, `\A` `\z` at the text's ends, `\b` `\B`, `\d` (0–9), `\w` `\s` (Unicode's) and their capitals, `\n` `\r`
  /// `\t` `\xHH` `\uHHHH` `\u{H…}`. Of overlapping matches, the leftmost and then longest is found. Back-references and
  /// lookaround are not supported. Case is ignored scalar by scalar.
  ///
  /// - Throws: `invalidArgument` with the place; `tooLarge`.
  public static func regularExpression(_ pattern: String, ignoringCase: Bool = false) throws(StoreError)
    -> SearchPattern
  {
    try compiling { () throws(PatternError) in try Pattern.regularExpression(pattern, ignoringCase: ignoringCase) }
  }

  private static func compiling(_ compile: () throws(PatternError) -> Pattern) throws(StoreError) -> SearchPattern {
    do throws(PatternError) {
      return SearchPattern(compiled: try compile())
    } catch {
      throw StoreError(error)
    }
  }

  private init(compiled: Pattern) {
    self.compiled = compiled
  }
}

extension StoreError {
  fileprivate init(_ error: PatternError) {
    switch error.code {
    case .empty: self.init(.invalidArgument, error.message)
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

  public static let text = SearchFields(rawValue: 1)
  /// Searching titles alone opens no text.
  public static let title = SearchFields(rawValue: 2)
  public static let all: SearchFields = [.text, .title]
}

/// A document that holds the pattern.
public struct SearchMatch: Sendable, Hashable {
  public let header: DocumentHeader
  /// The matches in the title, as ranges of UTF-8 bytes: at most 100.
  public let titleRanges: [Range<Int>]
  /// The matches in the text, likewise. Both are empty if finding the exact ranges of an expression takes too long.
  public let textRanges: [Range<Int>]
}
