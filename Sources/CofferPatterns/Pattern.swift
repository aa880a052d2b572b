/// A literal text or a regular expression, ready to be searched for.
package struct Pattern: Sendable {
  enum Kind: Sendable {
    case literal(LiteralSearch)
    case program(PatternProgram)
    case characters(FoldedText)
  }

  let kind: Kind

  /// A text, found byte by byte or with some differences ignored.
  ///
  /// - Throws: `empty`, `tooLarge`.
  package static func text(_ text: String, ignoring differences: TextDifferences = []) throws(PatternError) -> Pattern {
    guard !text.isEmpty else { throw PatternError(.empty, "there is nothing to look for") }
    let known = differences.intersection(TextDifferences.all.union(.exceptVowelSigns))
    if known.isEmpty { return Pattern(kind: .literal(LiteralSearch(Array(text.utf8)))) }
    if known == .case { return Pattern(kind: .program(try PatternProgram(folding: text))) }
    return Pattern(kind: .characters(try FoldedText(text, ignoring: known)))
  }

  /// A regular expression. Case is the only difference that can be ignored, scalar by scalar.
  ///
  /// Syntax: `.` (anything within a line), `[…]` `[^…]`, `( )` `(?: )`, `|`, `*` `+` `?` `{m}` `{m,}` `{m,n}`, `^` `$`
  /// at lines, `\A` `\z` at the text's ends, `\b` `\B`, `\d` (0–9), `\w` `\s` (Unicode's) and their capitals, `\n` `\r`
  /// `\t` `\xHH` `\uHHHH` `\u{H…}`.
  ///
  /// - Throws: `syntax` with the place, `tooLarge`, `unsupported`.
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

/// A pattern that can't be searched for. The message never holds the pattern itself.
package struct PatternError: Error, Sendable {
  package enum Code: Sendable {
    /// The text to search for is empty.
    case empty
    /// The regular expression can't be parsed.
    case syntax
    /// The compiled pattern exceeds the limit of steps.
    case tooLarge
    /// Differences that a pattern of this kind can't ignore.
    case unsupported
  }

  package let code: Code
  package let message: String
  /// For `syntax`: the number of the offending scalar in the expression, from 1.
  package let place: Int?

  init(_ code: Code, _ message: String, at place: Int? = nil) {
    self.code = code
    self.message = message
    self.place = place
  }
}
