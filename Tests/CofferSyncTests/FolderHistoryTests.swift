import Coffer
import CofferSyncSimulation
import CofferTestSupport
import Testing

@testable import CofferStoreTestSupport

/// Random histories of devices that sync by a folder, judged by a log of who had seen which text.
struct FolderHistoryTests {
  @Test(arguments: SimulatedHistory.Kind.allCases, HistorySeeds.first(4))
  func devicesConverge(_ kind: SimulatedHistory.Kind, _ seed: UInt64) throws {
    let place = try Workplace()
    let outcome = SimulatedHistory.outcome(
      seed, kind, in: place.url, key: .published("primary"), openOptions: .testing)
    if let fault = outcome.fault {
      Issue.record("\(kind) \(seed): \(fault)\n\(outcome.log.joined(separator: "\n"))")
    }
  }
}
