/// The syntax tree of a regular expression.
indirect enum PatternNode {
  /// One scalar of a set.
  case one(ScalarSet)
  case sequence([PatternNode])
  case choice([PatternNode])
  /// `most` is nil for any number.
  case repeated(PatternNode, least: Int, most: Int?)
  case assertion(Assertion)

  /// A condition on the two scalars around a place.
  enum Assertion: UInt8, Sendable {
    case lineStart, lineEnd, textStart, textEnd, wordBoundary, noWordBoundary
  }
}
