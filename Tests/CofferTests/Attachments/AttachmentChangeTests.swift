import Coffer
import CofferRecords
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Reported changes of attachments.
struct AttachmentChangeTests {
  private typealias Entry = RingChanges.Entry

  private let test: TestStore
  private let other: DocumentStore
  private let ids: [DocumentID]
  private let attached: CofferEngine.Attachment

  init() throws {
    test = try TestStore()
    let notes = test.notes
    ids = try test.store.write { tx in
      try (1...4).map { try tx.insert(Document(title: "\($0)", text: "\($0)"), into: notes) }
    }
    let first = ids[0]
    attached = try test.store.write { try $0.attach([1, 2, 3], to: first, name: "first") }
    other = try test.reopened()
  }

  private func state() throws -> StoreState {
    try test.store.engine.reading { transaction throws(StoreError) in transaction.state }
  }

  private func changes(since earlier: StoreState) throws -> [RingChanges] {
    try test.store.engine.reading { transaction throws(StoreError) in try transaction.changes(since: earlier).changes }
  }

  /// Makes more commits than the ring holds, without changing a document.
  private func pass() throws {
    for _ in 0..<330 {
      try other.engine.writing { transaction throws(StoreError) in
        try transaction.writer.willWrite()
        try transaction.commit()
      }
    }
  }

  // MARK: Changes since a state

  @Test func ringReportsDocumentsOfChangedAttachments() throws {
    let earlier = try state()
    let second = try other.write { try $0.attach([4], to: ids[1], name: "second") }
    try other.write { try $0.rename(attached.id, to: "renamed") }
    try other.write { try $0.detach(second.id) }
    #expect(
      try changes(since: earlier) == [
        .entries([Entry(.headChanged, in: 1, [2...2])]), .entries([Entry(.headChanged, in: 1, [1...1])]),
        .entries([Entry(.headChanged, in: 1, [2...2])]),
      ])
  }

  @Test func ringOmitsAttachmentsThatComeAndGo() throws {
    let earlier = try state()
    try other.write { tx throws in
      for id in ids {
        let attachment = try tx.attach([4], to: id, name: "passing")
        try tx.rename(attachment.id, to: "passed")
        try tx.detach(attachment.id)
      }
      try tx.attach([5], to: ids[2], name: "stays")
      try tx.attach([5], to: ids[3], name: "leaves with its document")
      try tx.delete(ids[3])
      let new = try tx.insert(Document(text: "new"), into: test.notes)
      try tx.attach([5], to: new, name: "new")
      try tx.rename(attached.id, to: attached.name)
    }
    #expect(
      try changes(since: earlier) == [
        .entries([
          Entry(.inserted, in: 1, [5...5]), Entry(.headChanged, in: 1, [3...3]), Entry(.deleted, in: 1, [4...4]),
        ])
      ])
  }

  @Test func ringFollowsMovedDocument() throws {
    let earlier = try state()
    try other.write { tx throws in
      try tx.attach([4], to: ids[1], name: "moves along")
      try tx.move(ids[1], into: DocumentCollection("others"))
    }
    #expect(
      try changes(since: earlier) == [
        .entries([Entry(.inserted, in: 2, [2...2]), Entry(.deleted, in: 1, [2...2]), Entry(.collection, in: 2)])
      ])
  }

  @Test func walkReportsDocumentsOfChangedAttachments() throws {
    let earlier = try state()
    try other.write { tx throws in
      try tx.attach([4], to: ids[1], name: "second")
      try tx.rename(attached.id, to: "renamed")
      let new = try tx.insert(Document(text: "new"), into: test.notes)
      try tx.attach([5], to: new, name: "new")
    }
    try pass()
    #expect(
      try changes(since: earlier) == [
        .entries([Entry(.inserted, in: 1, [5...5]), Entry(.headChanged, in: 1, [1...2])])
      ])
    let later = try state()
    try pass()
    #expect(try changes(since: later) == [.entries([])])
  }

  /// A walk can't tell which document lost an attachment.
  @Test func walkReportsEverythingAfterRemoval() throws {
    let earlier = try state()
    try other.write { try $0.detach(attached.id) }
    try pass()
    #expect(try changes(since: earlier) == [.everything])
  }

  @Test func rekeyReportsNoChanges() throws {
    let earlier = try state()
    var options = RekeyOptions()
    options.dropsOtherSlots = true
    try test.store.rekey(to: [.published("primary")], options: options)
    #expect(try changes(since: earlier) == [.entries([])])
  }

  // MARK: Subscribers

  @Test(arguments: [false, true]) func subscribersHearOfAttachments(ofAnotherProcess isOther: Bool) async throws {
    let store = isOther ? other : test.store
    let engine = test.store.engine
    let subscription = engine.session.feed.subscribe(
      to: nil, for: .report, { () throws(StoreError) in try engine.beginning() }, poll: {})
    func next() async throws -> StoreChange? {
      let generation = try await store.read { $0.generation }
      await yieldUntil {
        engine.poll()
        return engine.session.feed.reported.map { $0.generation >= generation } ?? true
      }
      return try await subscription.subscriber.pending()
    }
    let second = try await store.write { try $0.attach([4], to: ids[1], name: "second") }
    var change = try #require(try await next())
    #expect(change.updated == [ids[1]] && change.inserted.isEmpty && change.moved.isEmpty && change.deleted.isEmpty)
    try await store.write { tx throws in
      try tx.rename(second.id, to: "second")
      let passing = try tx.attach([4], to: ids[2], name: "passing")
      try tx.detach(passing.id)
    }
    #expect(try await next() == nil)
    try await store.write { try $0.detach(second.id) }
    change = try #require(try await next())
    #expect(change.updated == [ids[1]])
  }

  @Test func observationsFollowAttachments() async throws {
    let store = test.store
    let runs = Mutex(0)
    let (first, attachment) = (ids[0], attached.id)
    let lists = Observer(
      store.observe { scope in
        runs.withLock { $0 += 1 }
        return try scope.attachments(of: first).map(\.name)
      })
    let single = Observer(store.observe { scope in try? scope.attachment(attachment).name })
    #expect(try await lists.require() == ["first"])
    #expect(try await single.require() == "first")
    try await store.write { try $0.attach([1], to: ids[1], name: "elsewhere") }
    try await other.write { try $0.rename(attachment, to: "renamed") }
    #expect(try await lists.require() == ["renamed"])
    #expect(try await single.require() == "renamed")
    #expect(runs.withLock { $0 } == 2)
    try await store.write { try $0.detach(attachment) }
    #expect(try await lists.require() == [])
    #expect(try await single.require() == nil)
  }

  // MARK: Lists

  /// A header counts the attachments, and a list of them next doesn't open their rows again, unless something was written.
  @Test func listsCountedAttachmentsOnce() throws {
    let second = try test.store.write { try $0.attach([4], to: ids[0], name: "second") }
    try test.store.engine.reading { transaction throws(StoreError) in
      let header = try transaction.header(of: ids[0])
      #expect(header.attachmentCount == 2)
      let counted = transaction.lastCounted
      #expect(counted?.document == ids[0] && counted?.attachments == [attached, second])
      let listed = try transaction.attachments(of: ids[0])
      #expect(listed == [attached, second])
      let others = try transaction.attachments(of: ids[1])
      #expect(others == [])
    }
    try test.store.write { tx throws in
      #expect(try tx.header(of: ids[0]).attachmentCount == 2)
      try tx.detach(attached.id)
      #expect(try tx.attachments(of: ids[0]) == [second])
      #expect(try tx.header(of: ids[0]).attachmentCount == 1)
      try tx.rename(second.id, to: "renamed")
      #expect(try tx.attachments(of: ids[0]).map(\.name) == ["renamed"])
    }
    let raw = try test.raw()
    try raw.execute("UPDATE coffer_attachment SET sealed=zeroblob(length(sealed))")
    try raw.close()
    try test.store.read { reader throws in
      #expect(try reader.header(of: ids[0]).attachmentCount == 1)
      expect(.damaged) { try reader.attachments(of: ids[0]) }
    }
  }

  // MARK: Indexes

  /// A document in the ring whose row is unchanged isn't indexed again.
  @Test func indexesKeepDocumentsWithOtherAttachments() throws {
    let store = test.store
    try store.index(test.notes, .titles, .words())
    try store.write { try $0.attach([4], to: ids[1], name: "second") }
    try store.write { try $0.detach(attached.id) }
    func found(_ words: String) throws -> [DocumentID] {
      try store.read { try $0.search(ranked: words, in: test.notes).matches.map(\.header.id) }
    }
    #expect(try found("3") == [ids[2]])
    try store.write { tx throws in
      try tx.update(ids[1]) { $0.text = "other" }
      try tx.attach([4], to: ids[1], name: "third")
    }
    #expect(try found("other") == [ids[1]])
    #expect(try store.checkIndexes().problems.isEmpty && store.verify().isSound)
  }
}
