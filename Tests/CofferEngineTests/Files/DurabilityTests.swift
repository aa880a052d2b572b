import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

struct DurabilityTests {
  @Test func syncsFolderAndFileSystem() {
    let path = FileManager.default.temporaryDirectory.appending(path: "anything").path
    #expect(Durability.syncDirectory(beside: path) == nil)
    #expect(Durability.syncDirectory(beside: "without a folder") == nil)
    #expect(Durability.syncFileSystem(in: FileManager.default.temporaryDirectory.path) == nil)
  }

  /// fsync(2) of a folder in /proc fails with EINVAL.
  @Test func ignoresUnsupportedFolderSync() {
    #expect(Durability.syncDirectory(beside: "/proc/self/anything") == nil)
  }

  /// SQLite synchronizes a drive's cache only if it's asked to, which it ignores on Linux.
  @Test(arguments: CreateOptions.Journal.allCases)
  func everyConnectionAsksForFullSynchronization(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    func expectFull(_ connection: StoreConnection) throws {
      for pragma in ["fullfsync", "checkpoint_fullfsync"] {
        #expect(try connection.database.connection.integerPragma(pragma) == 1)
      }
    }
    for store in [test.store, try test.reopened()] {
      try store.engine.reading { transaction throws(StoreError) in
        #expect(throws: Never.self) { try expectFull(transaction.connection) }
      }
      try store.engine.writing { transaction throws(StoreError) in
        #expect(throws: Never.self) { try expectFull(transaction.connection) }
      }
    }
  }

  @Test func reportsMissingFolder() {
    #expect(Durability.syncDirectory(beside: "/no/such/folder/anything") == ENOENT)
    #expect(Durability.syncFileSystem(in: "/no/such/folder") == ENOENT)
  }
}
