import Coffer
import CofferSyncSimulation
import CofferTestSupport
import Testing

@testable import CofferStoreTestSupport

/// Random histories of devices that sync by a folder, judged by a log of who had seen which text.
struct FolderHistoryTests {
  private func expectSound(_ seed: UInt64, _ kind: SimulatedHistory.Kind) throws {
    let place = try Workplace()
    let outcome = SimulatedHistory.outcome(
      seed, kind, in: place.url, key: .published("primary"), openOptions: .testing)
    if let fault = outcome.fault {
      Issue.record("seed \(seed): \(fault)\n\(outcome.log.joined(separator: "\n"))")
    }
  }

  @Test(arguments: HistorySeeds.first(6)) func devicesConverge(_ seed: UInt64) throws {
    try expectSound(seed, .edits)
  }

  @Test(arguments: HistorySeeds.first(6)) func attachmentsConverge(_ seed: UInt64) throws {
    try expectSound(seed, .attachments)
  }

  @Test(arguments: HistorySeeds.first(6)) func failedRunsAreContinued(_ seed: UInt64) throws {
    try expectSound(seed, .failures)
  }
}
