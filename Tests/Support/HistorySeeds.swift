import Foundation

/// The seeds of tests that run random histories.
package enum HistorySeeds {
  /// Returns the first `count` seeds, or 10,000 in a long run. `COFFER_HISTORIES` selects a single seed or a range such as
  /// `0-2999` instead.
  package static func first(_ count: UInt64) -> [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    guard let given = environment["COFFER_HISTORIES"] else {
      return Array(0..<(CaseSample.isWhole ? 10_000 : count))
    }
    let bounds = given.split(separator: "-").compactMap { UInt64($0) }
    return Array(bounds[0]...bounds[bounds.count - 1])
  }
}
