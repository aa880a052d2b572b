internal import CofferRecords

/// What to look for in titles and texts. Finding it makes no String of any document.
///
/// Nothing is normalized: what is composed is not found decomposed.
public struct SearchPattern: Sendable {
  enum Kind: Sendable {
    case literal(LiteralSearch)
    case program(SearchProgram)
  }

  let kind: Kind

  /// A text, found exactly, or without regard to case by Unicode's full case folding: `straße` finds `STRASSE`.
  ///
  /// - Throws: `invalidArgument` for an empty one; `tooLarge` beyond a few thousand letters without regard to case.
  public static func text(_ text: String, ignoringCase: Bool = false) throws(StoreError) -> SearchPattern {
    guard !text.isEmpty else { throw StoreError(.invalidArgument, "there is nothing to look for") }
    if ignoringCase { return SearchPattern(kind: .program(try SearchProgram(folding: text))) }
    return SearchPattern(kind: .literal(LiteralSearch(Array(text.utf8))))
  }

  /// A regular expression, searched in a time that grows with the text only, whatever the expression.
  ///
  /// Knows `.` (anything within a line), `[…]` `[^…]`, `( )` `(?: )`, `|`, `*` `+` `?` `{m}` `{m,}` `{m,n}`, `^` `$`
  /// at lines, `\A` `\z` at the text's ends, `\b` `\B`, `\d` (0–9), `\w` `\s` (Unicode's) and their capitals, `\n` `\r`
  /// `\t` `\xHH` `\uHHHH` `\u{H…}`. Of several matches the first and then longest is meant. Nothing that needs to look
  /// back at what a group found, or ahead, is known. Case is ignored scalar by scalar.
  ///
  /// - Throws: `invalidArgument` with the place; `tooLarge`.
  public static func regularExpression(_ pattern: String, ignoringCase: Bool = false) throws(StoreError)
    -> SearchPattern
  {
    let node = try PatternParser.parse(pattern, ignoringCase: ignoringCase)
    return SearchPattern(kind: .program(try SearchProgram(node)))
  }

  private init(kind: Kind) {
    self.kind = kind
  }
}

/// Where to look.
public struct SearchFields: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  public static let text = SearchFields(rawValue: 1)
  /// Alone, no text is opened.
  public static let title = SearchFields(rawValue: 2)
  public static let all: SearchFields = [.text, .title]
}

/// A document that was found.
public struct SearchMatch: Sendable, Hashable {
  public let header: DocumentHeader
  /// Where the pattern stands in the title, in bytes of UTF-8: at most 100 places.
  public let titleRanges: [Range<Int>]
  /// Where it stands in the text, likewise. Empty for both where finding an expression's exact places takes too long.
  public let textRanges: [Range<Int>]
}
