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
