import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Chunks that a large or interrupted deletion leaves over.
struct LeftoverChunkTests {
  private let test: TestStore
  private let id: DocumentID
  private let kept: CofferEngine.Attachment

  init() throws {
    test = try TestStore { $0.isPadded = false }
    let notes = test.notes
    id = try test.store.write { try $0.insert(Document(text: "text"), into: notes) }
    let id = id
    kept = try test.store.write { tx in
      let first = try tx.attach([1], to: id, name: "first")
      let second = try tx.attach([2], to: id, name: "second")
      try tx.attach([3], to: id, name: "third")
      try tx.detach(first.id)
      return second
    }
  }

  private func chunks(of number: Int64) throws -> Int64? {
    try test.raw().query("SELECT count(*) FROM coffer_chunk WHERE chunk>>24=?", number).rows[0][0].integer
  }

  /// Adds chunks of the first attachment, which is removed.
  private func plant(_ count: Int64 = 3) throws {
    let raw = try test.raw()
    for index in 0..<count {
      try raw.execute("INSERT INTO coffer_chunk VALUES((1<<24)+2*?,zeroblob(100))", index)
    }
  }

  /// What `body` does isn't followed by a search for leftovers.
  private func writeOnly(_ body: (DocumentEditor) throws(StoreError) -> Void) throws {
    try test.store.engine.writing { transaction throws(StoreError) in
      try body(transaction.editor)
      try transaction.commit()
    }
  }

  @Test func nextChangeOfAttachmentsDeletesLeftovers() throws {
    try plant()
    let store = try test.reopened()
    #expect(try store.verify().isSound && chunks(of: 1) == 3)
    try store.write { try $0.update(id) { $0.title = "text only" } }
    #expect(try chunks(of: 1) == 3)
    let generation = try store.write { tx in
      try tx.attach([4], to: id, name: "fourth")
      return tx.generation
    }
    #expect(try chunks(of: 1) == 0 && chunks(of: 2) == 1 && chunks(of: 4) == 1)
    #expect(try store.read { $0.generation } == generation)
    #expect(try store.read { try $0.content(of: kept.id) } == [2])
    #expect(try store.verify().isSound)
  }

  @Test func largeDeletionTakesSeveralTransactions() throws {
    let count = Int(RecordWriter.maximumDeletedChunks) + 70
    let content = [UInt8](repeating: 7, count: count << 16)
    let large = try test.store.write { try $0.attach(content, to: id, name: "large") }
    let third = try test.store.read { try $0.attachment(named: "third", of: id) }
    #expect(try chunks(of: large.id.rawValue) == Int64(count))
    try writeOnly { editor throws(StoreError) in
      try editor.detach(large.id)
      try editor.detach(third!.id)
    }
    #expect(try chunks(of: large.id.rawValue) == 70 && chunks(of: third!.id.rawValue) == 1)
    expect(.noSuchAttachment) { try test.store.read { try $0.content(of: large.id) } }
    #expect(try test.store.verify().isSound)
    try test.store.write { try $0.update(id) { $0.title = "after" } }
    #expect(try chunks(of: large.id.rawValue) == 0 && chunks(of: third!.id.rawValue) == 0 && chunks(of: 2) == 1)
    #expect(try test.store.verify().isSound)
  }

  /// Each of these attachments leaves changed pages in the cache, which are needed until the transaction ends.
  @Test(.slow) func deletionOfManyTakesLittleMemory() throws {
    let content = [UInt8](repeating: 7, count: 1 << 19)
    let store = try test.reopened()
    for part in 0..<10 {
      try store.write { tx in
        for number in 0..<50 { try tx.attach(content, to: id, name: "\(part) \(number)") }
      }
    }
    try store.write { tx in for attachment in try tx.attachments(of: id).dropFirst(2) { try tx.detach(attachment.id) } }
    #expect(try test.raw().query("SELECT count(*) FROM coffer_chunk").rows[0][0] == .integer(2))
    let connection = try #require(store.engine.connections.writingConnection)
    #expect(try connection.database.connection.usedCacheBytes() < 4 << 20)
    #expect(try store.verify().isSound)
  }

  @Test func compactionDeletesLeftovers() throws {
    try plant(2000)
    let store = try test.reopened()
    try store.compact()
    #expect(try chunks(of: 1) == 0 && chunks(of: 2) == 1)
    #expect(try store.verify().isSound)
  }

  /// A tree that lost a row hides an attachment, which a salvage may still find.
  @Test func missingRowKeepsChunks() throws {
    try plant()
    try test.raw().execute("DELETE FROM coffer_attachment WHERE attachment=3")
    let store = try test.reopened()
    try store.write { try $0.attach([4], to: id, name: "fourth") }
    #expect(try chunks(of: 1) == 3 && chunks(of: 3) == 1)
    expect(.setMismatch) { try store.compact() }
  }

  @Test func anotherWriterLeavesLeftoversForLater() throws {
    try plant()
    let store = try test.reopened()
    let raw = try test.raw()
    try store.write { try $0.attach([4], to: id, name: "fourth") }
    #expect(try chunks(of: 1) == 0)
    try plant()
    store.engine.session.chunkSweep.store(.due, ordering: .relaxed)
    try raw.begin(.immediate)
    store.engine.deleteLeftoverChunks()
    try raw.rollback()
    #expect(try chunks(of: 1) == 3)
    try store.write { try $0.update(id) { $0.title = "after" } }
    #expect(try chunks(of: 1) == 0)
  }

  /// The condition is polled during the search, like a commit of another thread that leaves chunks over.
  @Test func commitDuringSearchIsRemembered() throws {
    try plant()
    let session = test.store.engine.session
    session.noteAttachmentChange(leavingChunks: true)
    let commit = { @Sendable in
      session.noteAttachmentChange(leavingChunks: true)
      return false
    }
    Cancellation.polling(commit) { test.store.engine.deleteLeftoverChunks() }
    #expect(try chunks(of: 1) == 0)
    let (isRemembered, sweep) = (
      session.leavesChunks.load(ordering: .relaxed), session.chunkSweep.load(ordering: .relaxed)
    )
    #expect(isRemembered && sweep == .due)
    try test.store.write { try $0.update(id) { $0.title = "after" } }
    let remains = session.leavesChunks.load(ordering: .relaxed)
    #expect(!remains)
  }

  /// A write returns after its commit, and leaves the chunks to a later writer.
  @Test func writeBesideReadersReturns() throws {
    var options = OpenOptions.testing
    options.maximumReaders = 1
    let test = try TestStore({ $0.journal = .writeAheadLog }, options: options)
    let id = try test.store.write { [notes = test.notes] in try $0.insert(Document(text: "text"), into: notes) }
    try test.store.read { reader throws in
      let written = Background { try test.store.write { _ = try $0.attach([1], to: id, name: "first") } }
      try written.value()
      #expect(try reader.attachments(of: id).isEmpty)
    }
    #expect(try test.store.read { try $0.attachments(of: id).count } == 1)
  }
}
