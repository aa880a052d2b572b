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
