// A release build, which runs simulated histories, has no Testing.
#if canImport(Testing)
  internal import Foundation
  package import Testing

  extension Trait where Self == ConditionTrait {
    /// Marks a test that takes over two seconds of a processor. `Tools/test --fast` sets `COFFER_FAST`, which skips and
    /// lists these tests.
    package static var slow: Self {
      .disabled(if: ProcessInfo.processInfo.environment["COFFER_FAST"] != nil, "slow")
    }
  }
#endif
