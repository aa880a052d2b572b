import Coffer
import CofferRecords
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// A disk that accepts writes but fails to sync them.
@Suite(.serialized) struct FailedSyncTests {
  private func put(_ title: String, _ test: TestStore) throws {
    try test.store.write { _ = try $0.insert(Document(title: title, text: title), into: test.notes) }
  }

  /// After a failed sync, all writes fail until the store is reopened, even though the disk has recovered.
  @Test(arguments: CreateOptions.Journal.allCases)
  func failedSyncBlocksWritesUntilReopening(_ journal: CreateOptions.Journal) throws {
    let test = try TestStore { $0.journal = journal }
    try put("kept", test)
    do {
      try test.store.write { writer in
        try FailingSync.fail(journal == .rollback ? .database : .log, of: writer, times: 1)
        _ = try writer.insert(Document(title: "not confirmed", text: ""), into: test.notes)
      }
      Issue.record("a write was acknowledged that the disk did not confirm")
    } catch let error as StoreError {
      #expect(error.code == .ioFailure && error.message.contains("did not confirm what"), "\(error)")
    }
    do {
      try put("refused", test)
      Issue.record("written after a write that was not confirmed")
    } catch let error as StoreError {
      #expect(error.code == .ioFailure && error.message.contains("an earlier write"), "\(error)")
      #expect(error.hint?.contains("open it again") == true)
    }
    expect(.ioFailure) { try test.store.rekey { _ in } }
    expect(.ioFailure) { try test.store.compact() }
    #expect(try test.store.titles(in: test.notes) == ["kept"])
    try test.store.close()
    let again = try test.reopened()
    try again.write { _ = try $0.insert(Document(title: "later", text: ""), into: test.notes) }
    #expect(try again.titles(in: test.notes) == ["kept", "later"])
    #expect(try again.verify().isSound)
  }

  @Test func failedSyncLeavesOtherStoresWritable() throws {
    let (test, other) = (try TestStore(), try TestStore())
    expect(.ioFailure) {
      try test.store.write { writer in
        try FailingSync.fail(.database, of: writer, times: 1)
        _ = try writer.insert(Document(title: "not confirmed", text: ""), into: test.notes)
      }
    }
    try put("sound", other)
    try other.expectSound()
  }
}
