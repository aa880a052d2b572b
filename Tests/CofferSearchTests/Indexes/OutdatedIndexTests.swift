import Coffer
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Reads that use an outdated index, and the update of the index in the file after them.
@Suite struct OutdatedIndexTests {
  /// A store with an index of words, reopened with little memory for updates.
  private func indexed(documents: Int, memory: Int) throws -> (TestStore, DocumentStore) {
    let test = try TestStore()
    try test.store.write { tx in
      for number in 0..<documents {
        try tx.insert(
          Document(title: "note \(number)", text: "needle \(number) in the hay \(number % 17)"), into: test.notes)
      }
    }
    try test.store.index(test.notes, .words(), .titles)
    try test.store.close()
    var options = OpenOptions.testing
    options.indexMemoryBytes = memory
    return (test, try test.reopened(.published("primary"), options))
  }

  private func sealedIndex(_ test: TestStore) throws -> [[SQLiteValue]] {
    try test.raw().query("SELECT sealed FROM coffer_x_index").rows.map(\.values)
  }

  @Test func readUpdatesIndexBeyondMemoryLimit() throws {
    let (test, store) = try indexed(documents: 400, memory: 64 << 10)
    try store.write { tx in
      for number in 0..<100 { try tx.insert(Document(text: "needle, new \(number)"), into: test.notes) }
    }
    #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 500)
    #expect(try store.read { try $0.search(ranked: "new", in: test.notes) }.total == 100)
    #expect(try store.verify(.full).isSound)
  }

  @Test(.slow) func searchSucceedsAfterEachOfManyChanges() throws {
    let (test, store) = try indexed(documents: 400, memory: 1 << 20)
    for number in 1...150 {
      try store.write { try $0.update(DocumentID(number)) { $0.text = "needle, changed \(number)" } }
      #expect(try store.read { try $0.search(ranked: "changed", in: test.notes) }.total == number)
    }
  }

  private func insertNeedles(_ count: Int, into store: DocumentStore, _ test: TestStore) throws {
    try store.write { tx in
      for _ in 0..<count { try tx.insert(Document(text: "needle"), into: test.notes) }
    }
  }

  @Test func readUpdatesIndexInFileAfterManyDocuments() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    let before = try sealedIndex(test)
    for round in 1...3 {
      try insertNeedles(100, into: store, test)
      #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 20 + 100 * round)
      #expect(try (sealedIndex(test) == before) == (round < 3))
    }
  }

  @Test func closingUpdatesIndexInFile() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    try insertNeedles(1, into: store, test)
    let before = try sealedIndex(test)
    _ = try store.read { try $0.search(ranked: "needle", in: test.notes) }
    #expect(try sealedIndex(test) == before)
    try store.close()
    #expect(try sealedIndex(test) != before)
    let other = try test.reopened()
    #expect(try other.verify(.full).isSound)
    #expect(try other.read { try $0.search(ranked: "needle", in: test.notes) }.total == 21)
  }

  /// Another program's lock keeps the update from the file. The read has its result at once, and a later one updates.
  @Test func lockedFileIsUpdatedByLaterRead() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    try insertNeedles(256, into: store, test)
    let before = try sealedIndex(test)
    let other = try test.raw()
    try other.begin(.immediate)
    #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 276)
    #expect(try sealedIndex(test) == before)
    try other.rollback()
    try other.close()
    _ = try store.read { try $0.search(ranked: "needle", in: test.notes) }
    #expect(try sealedIndex(test) != before)
  }

  @Test func failedReadIsRunOnce() throws {
    let (test, store) = try indexed(documents: 20, memory: 8 << 20)
    var calls = 0
    expect(.noSuchDocument) {
      try store.read { reader in
        calls += 1
        return try reader.text(of: 99)
      }
    }
    #expect(calls == 1)
    _ = test
  }

  /// Batches of a rekey change the seals of rows that an index has already taken.
  @Test func verifyAcceptsIndexesDuringRekey() throws {
    let (test, store) = try indexed(documents: 30, memory: 8 << 20)
    var options = RekeyOptions()
    options.isKeysOnly = true
    try store.rekey(to: [.published("next")], options: options) { _ in }
    #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 30)
    options = RekeyOptions()
    options.isResuming = true
    options.batchSize = 7
    var steps = 0
    #expect(throws: StoreError.self) {
      try store.rekey(options: options) { _ in
        steps += 1
        if steps == 3 { throw Interruption() }
      }
    }
    #expect(try !store.rekeyStatus().isFinished)
    #expect(try store.verify(.full).error == nil)
    #expect(try store.read { try $0.search(ranked: "needle", in: test.notes) }.total == 30)
    options.batchSize = 1000
    try store.rekey(options: options) { _ in }
    #expect(try store.verify(.full).isSound)
  }
}
