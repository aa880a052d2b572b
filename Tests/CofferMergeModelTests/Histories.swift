import CofferTestSupport

/// The random histories that the tests run.
enum Histories {
  static let seeds = HistorySeeds.first(40)
}

/// What a history shows to be wrong.
struct OracleFailure: Error, CustomStringConvertible {
  let description: String
}

/// Ends the history with a failure unless the condition holds.
func check(_ condition: Bool, _ description: @autoclosure () -> String) throws {
  if !condition {
    throw OracleFailure(description: description())
  }
}
