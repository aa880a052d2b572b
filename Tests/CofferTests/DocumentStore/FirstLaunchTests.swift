import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Several openings at once make one store.
struct FirstLaunchTests {
  @Test(arguments: [CreateOptions.Journal.rollback, .writeAheadLog])
  func concurrentOpeningsMakeOneStore(_ journal: CreateOptions.Journal) throws {
    for _ in 0..<10 {
      let place = try Workplace()
      let url = place.file("new.coffer")
      var options = OpenOptions.testing
      options.creation.isTest = true
      options.creation.journal = journal
      let openings = (1...8).map { [options] number in
        Background {
          let store = try DocumentStore.open(
            at: url, key: .published("primary"), creatingIfMissing: true, options: options)
          try store.write { tx in _ = try tx.insert(Document(text: "text \(number)"), into: "notes") }
          try store.close()
          return store.opening
        }
      }
      let opened = try openings.map { try $0.value() }
      #expect(opened.count { $0 == .created } == 1 && opened.count { $0 == .opened } == 7)
      let store = try DocumentStore.open(at: url, key: .published("primary"), options: options)
      #expect(try store.read { try $0.count(in: "notes") } == 8)
      #expect(try store.verify().isSound)
      try store.close()
      #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path) == ["new.coffer"])
    }
  }

  /// A new store couldn't be opened again with these options.
  @Test func leavesStoreMissingForOptionsOfExistingStore() throws {
    let place = try Workplace()
    let pin = try TestStore().store.pin
    let publisher = try Publishing.publisher
    let changes: [(inout OpenOptions) -> Void] = [
      { $0.isReadOnly = true }, { $0.leavesFileUnchanged = true }, { $0.pin = pin }, { $0.publisher = publisher },
    ]
    for change in changes {
      var options = OpenOptions.testing
      options.creation.isTest = true
      change(&options)
      expect(.noSuchFile) {
        try DocumentStore.open(
          at: place.file("new.coffer"), key: .published("primary"), creatingIfMissing: true, options: options)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path).isEmpty)
    }
  }

  /// A journal without a store is reported as such.
  @Test func reportsJournalOfAnotherStore() throws {
    let place = try Workplace()
    let url = place.file("new.coffer")
    try Data("x".utf8).write(to: place.file("new.coffer-journal"))
    var options = OpenOptions.testing
    options.creation.isTest = true
    let error = #expect(throws: StoreError.self) {
      try DocumentStore.open(at: url, key: .published("primary"), creatingIfMissing: true, options: options)
    }
    #expect(error?.code == .alreadyExists && error?.message.contains("belongs to another store") == true)
  }
}
