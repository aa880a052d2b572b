import Coffer
import CofferRecords
import CofferSQLite
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Calls that throw, and leave the store as it was in a transaction that commits.
struct RefusedChangeTests {
  @Test func truncationThatCannotRestartIDsDeletesNothing() throws {
    try withTestStore { test in
      try test.store.write { try $0.insert(Document(text: "kept"), into: test.notes) }
      var options = RekeyOptions()
      options.isKeysOnly = true
      _ = try test.store.rekey(options: options)
      try test.store.write { writer in
        expect(.rekeyUnfinished) { try writer.truncate(test.notes, restartingIDs: true) }
        expect(.rekeyUnfinished) { try writer.replaceAll(in: test.notes, with: [], restartingIDs: true) }
      }
      #expect(try test.store.read { try $0.count(in: test.notes) } == 1)
      _ = try test.store.rekey(options: .resuming)
    }
  }

  /// The documents before the damaged one are already deleted when the call throws.
  @Test(arguments: [true, false])
  func damagedDocumentKeepsWholeCollection(isDropped: Bool) throws {
    let test = try TestStore()
    try test.store.write { writer in
      for text in ["a", "b", "c"] { try writer.insert(Document(text: text), into: test.notes) }
    }
    try damage(2, test)
    expect(.damaged) {
      try test.store.write { writer in
        expect(.damaged) {
          if isDropped { return try writer.drop(test.notes) }
          try writer.truncate(test.notes)
        }
      }
    }
    #expect(try test.store.read { try $0.count(in: test.notes) } == 3)
  }

  /// The document that gets a free key is opened after the change that frees it.
  @Test func damagedDocumentWithSameKeyKeepsKeyOfOther() throws {
    let test = try TestStore()
    try test.store.write { try $0.insert(Document(text: "a", key: "k"), into: test.notes) }
    // As after a merge.
    try test.store.engine.write { transaction in
      let record = try transaction.requireCollection(test.notes)
      _ = try transaction.editor.add(
        Document(text: "b", key: "k"), in: record, id: nil, titleRule: nil, sharingKey: true
      ) { () throws(StoreError) in try transaction.order.position(for: .bottom, in: record.id) }
    }
    try damage(2, test)
    let changes: [(borrowing WriteTransaction) throws -> Void] = [
      { try $0.delete(1) }, { try $0.setKey(of: 1, to: nil) }, { try $0.update(1) { $0.key = nil } },
    ]
    for change in changes {
      expect(.damaged) {
        try test.store.write { writer in
          expect(.damaged) { try change(writer) }
        }
      }
      #expect(try test.store.read { try $0.header(of: 1).key } == "k")
    }
  }

  private func damage(_ id: DocumentID, _ test: TestStore) throws {
    let raw = try test.raw()
    try raw.execute("UPDATE coffer_record SET head = zeroblob(length(head)) WHERE id = ?", id.rawValue)
    try raw.close()
  }

  @Test func refusedMoveCreatesNoCollection() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let parent = try writer.insert(Document(text: "parent"), into: test.notes)
        let child = try writer.insert(Document(text: "child", parent: parent), into: test.notes)
        expect(.invalidArgument) { try writer.move(parent, into: "new") }
        expect(.invalidArgument) { try writer.move(child, into: "new", at: .after(parent)) }
        #expect(try !writer.exists("new"))
      }
    }
  }

  @Test func skippedRecordKeepsParent() throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        for key in ["a", "b"] { try writer.insert(Document(text: key, key: DocumentKey(key)), into: test.notes) }
        var options = SyncOptions()
        options.keepsIDs = true
        options.skipsInvalid = true
        let source = ParentedSource([("b", 1, 3), ("b", 2, nil), ("c", 3, nil)])
        let report = try writer.synchronize(test.notes, with: source, options: options)
        #expect(report.invalid.map(\.id) == [1])
        #expect(try writer.header(of: 1).parent == nil)
      }
    }
  }

  /// As after an error that rolled the whole transaction back, such as of a full disk.
  @Test func savepointReportsLostTransaction() throws {
    let test = try TestStore()
    var found: (any Error)?
    #expect(throws: (any Error).self) {
      try test.store.engine.write { transaction in
        do {
          try transaction.savepoint { try transaction.database.execute("ROLLBACK") }
        } catch {
          found = error
          throw error
        }
      }
    }
    #expect(found is StoreError, "\(String(describing: found))")
  }

  /// Records with a key, an ID and a parent.
  private struct ParentedSource: DraftSource {
    private var records: [(key: String, id: DocumentID, parent: DocumentID?)]

    init(_ records: [(String, DocumentID, DocumentID?)]) { self.records = records }

    mutating func read(into batch: inout DraftBatch) throws -> Bool {
      for (index, record) in records.enumerated() {
        let start = batch.bytes.count
        batch.bytes += record.key.utf8
        var draft = DraftBatch.Draft(text: start..<batch.bytes.count, record: index + 1)
        draft.key = start..<batch.bytes.count
        draft.id = record.id
        draft.parent = record.parent
        batch.drafts.append(draft)
      }
      records = []
      return !batch.isEmpty
    }
  }
}
