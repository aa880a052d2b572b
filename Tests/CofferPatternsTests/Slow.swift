import Foundation
import Testing

extension Trait where Self == ConditionTrait {
  /// Takes over two seconds of a processor: `Tools/test --fast` sets `COFFER_FAST`, which leaves it out, and lists it.
  static var slow: Self {
    .disabled(if: ProcessInfo.processInfo.environment["COFFER_FAST"] != nil, "slow")
  }
}
