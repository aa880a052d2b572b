internal import Foundation

/// The cases that a test runs. With `COFFER_LONG` set, it's all of them, otherwise a sample.
package enum CaseSample {
  package static let isWhole = ProcessInfo.processInfo.environment["COFFER_LONG"] != nil

  /// Returns one of `share` cases, evenly spread.
  package static func one<Case>(in share: Int, of cases: [Case]) -> [Case] {
    isWhole ? cases : stride(from: 0, to: cases.count, by: share).map { cases[$0] }
  }

  /// Returns the number of random cases.
  package static func count(_ count: Int, ofLongRun longCount: Int) -> Int { isWhole ? longCount : count }
}
