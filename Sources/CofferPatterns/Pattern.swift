/// A literal text or a regular expression to search for.
package struct Pattern: Sendable {
  enum Kind: Sendable {
    case literal(LiteralSearch)
    case program(PatternProgram)
    case characters(FoldedText)
  }

  let kind: Kind

  /// Returns a pattern for a text, which is found byte by byte or ignoring some differences.
  ///
  /// - Throws: `empty` or `tooLarge`.
  package static func text(_ text: String, ignoring differences: TextDifferences = []) throws(PatternError) -> Pattern {
    guard !text.isEmpty else { throw PatternError(.empty, "there is nothing to look for") }
    let known = differences.intersection(TextDifferences.all.union(.exceptVowelSigns))
    if known.isEmpty { return Pattern(kind: .literal(LiteralSearch(Array(text.utf8)))) }
    if known == .case { return Pattern(kind: .program(try PatternProgram(folding: text))) }
    return Pattern(kind: .characters(try FoldedText(text, ignoring: known)))
  }

  /// Returns a pattern for a regular expression. Case is the only difference that can be ignored, scalar by scalar.
  ///
  /// Syntax: `.` (anything within a line), `[…]` `[^…]`, `( )` `(?: )`, `|`, `*` `+` `?` `{m}` `{m,}` `{m,n}`, `^` `$`
  /// at lines, `\A` `\z` at the text's ends, `\b` `\B`, `\d` (0–9), `\w` `\s` (Unicode's) and their capitals, `\n` `\r`
  /// `\t` `\xHH` `\uHHHH` `\u{H…}`.
  ///
  /// - Throws: `syntax` with the position, `tooLarge` or `unsupported`.
  package static func regularExpression(
    _ expression: String, ignoring differences: TextDifferences = []
  ) throws(PatternError) -> Pattern {
    guard differences.intersection(.all).isSubset(of: .case) else {
      throw PatternError(.unsupported, "a regular expression can ignore case, but neither diacritics nor composition")
    }
    let node = try PatternParser.parse(expression, ignoringCase: differences.contains(.case))
    return Pattern(kind: .program(try PatternProgram(node)))
  }
}

/// An error for an invalid pattern. The message doesn't contain the pattern.
package struct PatternError: Error, Sendable {
  package enum Code: Sendable {
    /// The text to search for is empty.
    case empty
    /// The regular expression can't be parsed.
    case syntax
    /// The compiled pattern exceeds the maximum number of steps.
    case tooLarge
    /// This kind of pattern can't ignore these differences.
    case unsupported
  }

  package let code: Code
  package let message: String
  /// The number of the invalid scalar in the expression, from 1, for `syntax`.
  package let place: Int?

  init(_ code: Code, _ message: String, at place: Int? = nil) {
    self.code = code
    self.message = message
    self.place = place
  }
}
