import Coffer
import CofferRecords
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// The changes that write operations log for the ring in the state.
struct LoggedChangesTests {
  private typealias Entry = RingChanges.Entry

  private let test: TestStore
  private let ids: [DocumentID]

  init() throws {
    test = try TestStore()
    let notes = test.notes
    ids = try test.store.write { writer in
      try (1...4).map { try writer.insert(Document(title: "\($0)", text: "\($0)"), into: notes) }
    }
  }

  /// Returns the changes that a transaction logs, then rolls it back.
  private func changes(_ work: (inout WriteTransaction) throws -> Void) throws -> RingChanges {
    var changes: RingChanges?
    _ = try? test.store.write { writer in
      try work(&writer)
      changes = try writer.transaction.writer.changes.ringChanges
      throw Interruption()
    }
    return try #require(changes)
  }

  private func of(_ kinds: RingChanges.Kind..., id: DocumentID) -> RingChanges {
    .entries(kinds.map { Entry($0, in: 1, [id.rawValue...id.rawValue]) })
  }

  @Test func logsChangedPartsOfDocument() throws {
    let id = ids[1]
    #expect(try changes { try $0.update(id) { $0.text = "x" } } == of(.textChanged, .headChanged, id: id))
    // The caller sets the modification date.
    let dated = try changes { writer in
      try writer.update(id) { $0.modified = Timestamp(millisecondsSince1970: 5) }
      try writer.update(id) { document in
        document.text = "x"
        document.isJSON = true
        document.modified = Timestamp(millisecondsSince1970: 6)
      }
    }
    #expect(dated == of(.textChanged, .headChanged, id: id))
    #expect(try changes { try $0.update(id) { $0.title = "x" } } == of(.headChanged, id: id))
    #expect(try changes { try $0.update(id) { $0.title = "2" } } == .entries([]))
    #expect(try changes { try $0.setKey(of: id, to: "key") } == of(.headChanged, id: id))
    #expect(try changes { try $0.setParent(of: id, to: ids[0]) } == of(.headChanged, id: id))
    #expect(try changes { try $0.move(id, to: .top) } == of(.moved, id: id))
    #expect(try changes { try $0.move(id, to: .after(ids[0])) } == .entries([]))
    #expect(try changes { try $0.delete(id) } == of(.deleted, id: id))
    #expect(try changes { try $0.insert(Document(text: "5"), into: test.notes) } == of(.inserted, id: 5))
  }

  @Test func omitsUndoneChanges() throws {
    let changes = try changes { writer in
      try writer.move(ids[0], to: .bottom)
      try? writer.savepoint { inner in
        try inner.delete(ids[0])
        try inner.delete(ids[1])
        throw Interruption()
      }
    }
    #expect(changes == of(.moved, id: ids[0]))
  }

  @Test func logsCollectionChanges() throws {
    let notes = test.notes
    let collection = RingChanges.entries([Entry(.collection, in: 1)])
    #expect(try changes { try $0.rename(notes, to: "renamed") } == collection)
    #expect(try changes { try $0.update(notes, titleRule: .derived) } == collection)
    #expect(try changes { try $0.create(DocumentCollection("more")) } == .entries([Entry(.collection, in: 2)]))
    #expect(
      try changes { try $0.drop(notes) }
        == .entries([Entry(.deleted, in: 1, [1...4]), Entry(.collection, in: 1)]))
    let new = try changes { try $0.insert(Document(text: "5"), into: DocumentCollection("more")) }
    #expect(new == .entries([Entry(.inserted, in: 2, [5...5]), Entry(.collection, in: 2)]))
  }

  @Test func logsKeyFoldingAsCollectionChange() throws {
    try test.store.write { try $0.setKey(of: ids[0], to: "Key") }
    #expect(try changes { try $0.update(test.notes, foldsKeys: true) } == .entries([Entry(.collection, in: 1)]))
  }

  @Test func logsRestartedIDsAsEverything() throws {
    #expect(try changes { try $0.truncate(test.notes, restartingIDs: true) } == .everything)
    #expect(try changes { try $0.truncate(test.notes) } == .entries([Entry(.deleted, in: 1, [1...4])]))
    #expect(try changes { try $0.transaction.writer.deleteEverything() } == .everything)
  }

  /// Reencrypts rows and collections as a rekey does.
  @Test func omitsReencryptedRows() throws {
    try test.store.engine.writing { transaction throws(StoreError) in
      for record in try transaction.collections() { try transaction.writer.replaceCollection(with: record) }
      for id in ids { try transaction.writer.rewrite(id, changing: [], [], as: []) { _, _ in } }
      #expect(try! transaction.writer.changes.ringChanges == .entries([]))
    }
  }
}
