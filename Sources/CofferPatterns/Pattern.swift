/// A literal text or a regular expression, ready to be searched for.
package struct Pattern: Sendable {
  enum Kind: Sendable {
    case literal(LiteralSearch)
    case program(PatternProgram)
  }

  let kind: Kind

  /// A text, found exactly or without regard to case (full case folding).
  ///
  /// - Throws: `empty`, `tooLarge`.
  package static func text(_ text: String, ignoringCase: Bool = false) throws(PatternError) -> Pattern {
    guard !text.isEmpty else { throw PatternError(.empty, "there is nothing to look for") }
    if ignoringCase { return Pattern(kind: .program(try PatternProgram(folding: text))) }
    return Pattern(kind: .literal(LiteralSearch(Array(text.utf8))))
  }

  /// A regular expression; case is ignored scalar by scalar.
  ///
  /// Syntax: `.` (anything within a line), `[…]` `[^…]`, `( )` `(?: )`, `|`, `*` `+` `?` `{m}` `{m,}` `{m,n}`, `^` `$`
  /// at lines, `\A` `\z` at the text's ends, `\b` `\B`, `\d` (0–9), `\w` `\s` (Unicode's) and their capitals, `\n` `\r`
  /// `\t` `\xHH` `\uHHHH` `\u{H…}`.
  ///
  /// - Throws: `syntax` with the place, `tooLarge`.
  package static func regularExpression(
    _ expression: String, ignoringCase: Bool = false
  ) throws(PatternError) -> Pattern {
    let node = try PatternParser.parse(expression, ignoringCase: ignoringCase)
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
