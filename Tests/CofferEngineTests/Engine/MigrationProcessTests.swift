import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Migrations of several processes.
struct MigrationProcessTests {
  private static let place = "COFFER_TEST_MIGRATED_STORE"
  private static let version = "COFFER_TEST_APP_VERSION"

  private static func options(version: Int) -> OpenOptions {
    var options = OpenOptions.testing
    options.wait = .seconds(60)
    options.migrations = (0..<version).map { number in
      Migration("step \(number)") { tx in
        try tx.setIndexes([.field("n", "$.n", as: .number)], of: "notes")
        try tx.insert(Document(text: #"{"n":\#(number)}"#, isJSON: true), into: "notes")
      }
    }
    return options
  }

  @Test(arguments: CreateOptions.Journal.allCases)
  func processesThatStartAtOnceMigrateOnce(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    let others = try [1, 3, 2, 3].map { version in
      try AnotherProcess(
        running: "startsInAnotherProcess", environment: [Self.place: test.url.path, Self.version: "\(version)"])
    }
    for other in others { try other.waitForEnd() }
    let store = try test.reopened(.published("primary"), Self.options(version: 3))
    #expect(try store.read { try $0.appliedMigrations() } == ["step 0", "step 1", "step 2"])
    #expect(try store.read { try $0.query("SELECT n FROM notes ORDER BY n") }.rows.map { $0[0] } == [0, 1, 2])
    try store.close()
    try test.expectSound()
  }

  /// Opens the store of another process as an app version, which either makes its migrations or finds a newer store.
  @Test func startsInAnotherProcess() throws {
    let environment = ProcessInfo.processInfo.environment
    guard let path = environment[Self.place], let version = environment[Self.version].flatMap({ Int($0) }) else {
      return
    }
    do {
      let store = try DocumentStore.open(
        at: URL(filePath: path), key: .published("primary"), options: Self.options(version: version))
      for _ in 0..<20 { _ = try store.read { try $0.count(in: "notes") } }
      try store.close()
    } catch let error as StoreError where version < 3 {
      #expect(error.code == .otherFormat, "\(error)")
    }
  }
}
