import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// First launches of eight processes at once.
struct FirstLaunchProcessTests {
  private static let place = "COFFER_TEST_LAUNCHED_STORE"
  private static let original = "COFFER_TEST_LAUNCHED_ORIGINAL"
  private static let journal = "COFFER_TEST_LAUNCHED_JOURNAL"

  private static func options(_ journal: CreateOptions.Journal) -> OpenOptions {
    var options = OpenOptions.testing
    options.wait = .seconds(60)
    options.creation.isTest = true
    options.creation.journal = journal
    return options
  }

  @Test(arguments: CreateOptions.Journal.allCases, [false, true])
  func processesThatStartAtOnceOpenOneStore(_ journal: CreateOptions.Journal, asEditableCopy: Bool) throws {
    let test = try TestStore { $0.journal = journal }
    try test.store.write { _ = try $0.insert(Document(text: "original"), into: test.notes) }
    try test.store.close()
    let url = test.place.file("new.coffer")
    var environment = [Self.place: url.path, Self.journal: journal.rawValue]
    if asEditableCopy { environment[Self.original] = test.url.path }
    let processes = try (0..<8).map { _ in
      try AnotherProcess(running: "launchesInAnotherProcess", environment: environment)
    }
    for process in processes { try process.waitForStop() }
    for process in processes { process.goOn() }
    for process in processes { try process.waitForEnd() }
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: Self.options(journal))
    #expect(try store.read { try $0.count(in: test.notes) } == (asEditableCopy ? 9 : 8))
    #expect(try store.verify().isSound)
    try store.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: test.place.url.path)
    #expect(names.sorted() == ["new.coffer", "test.coffer"])
  }

  @Test func launchesInAnotherProcess() throws {
    let environment = ProcessInfo.processInfo.environment
    guard let path = environment[Self.place] else { return }
    let journal = try #require(environment[Self.journal].flatMap(CreateOptions.Journal.init(rawValue:)))
    let (url, key, options) = (URL(filePath: path), StoreKey.published("primary"), Self.options(journal))
    AnotherProcess.stop()
    let store =
      if let original = environment[Self.original] {
        try DocumentStore.openEditableCopy(of: URL(filePath: original), at: url, key: key, options: options)
      } else {
        try DocumentStore.open(at: url, key: key, creatingIfMissing: true, options: options)
      }
    try store.write { _ = try $0.insert(Document(text: "launched"), into: DocumentCollection("notes")) }
    try store.close()
  }
}
