import Coffer
import CofferEngine
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Restoring deleted documents.
struct UndoTests {
  /// Adds five documents. 3 is a child of 2, and 5 is a child of 3. 2 and 3 have keys.
  private func fill(_ test: TestStore) throws {
    try test.store.write { writer throws in
      for number in 1...5 {
        var document = Document(title: "t\(number)", text: "text \(number)", attributes: ["n": .number(Double(number))])
        document.created = Timestamp(millisecondsSince1970: Int64(number))
        document.modified = Timestamp(millisecondsSince1970: Int64(number) + 100)
        if (2...3).contains(number) { document.key = DocumentKey("k\(number)") }
        try writer.insert(document, into: test.notes)
      }
      try writer.setParent(of: 3, to: 2)
      try writer.setParent(of: 5, to: 3)
      try writer.update(4, keepingDate: true) {
        $0.isJSON = true; $0.text = "{}"
      }
    }
  }

  private func contents(_ test: TestStore) throws -> [String] {
    try test.store.read { reader in
      try reader.headers(in: test.notes).map { header in
        var document = try reader.document(header.id)
        document.title = document.title ?? "-"
        return "\(header.id) \(header.parent?.description ?? "-") \(document)"
      }
    }
  }

  @Test func restoresFamilyInOrder() throws {
    try withTestStore { test in
      try fill(test)
      let before = try contents(test)
      let deleted = try test.store.write { try $0.deleteUndoably([2], includingDescendants: true) }
      #expect(deleted.ids == [2, 3, 5])
      #expect(deleted.documents.map(\.text) == ["text 2", "text 3", "text 5"])
      #expect(try contents(test).count == 2)
      try test.store.write { try $0.restore(deleted) }
      #expect(try contents(test) == before)
      #expect(try test.store.read { try $0.id(forKey: "k3", in: test.notes) } == 3)
    }
  }

  @Test func restoresDocumentsNextToNeighbors() throws {
    try withTestStore { test in
      try fill(test)
      let deleted = try test.store.write { try $0.deleteUndoably([1, 4]) }
      try test.store.write { writer throws in
        try writer.move(2, to: .bottom)
        for number in 0..<20 { try writer.insert(Document(text: "new \(number)"), into: test.notes, at: .top) }
      }
      try test.store.write { try $0.restore(deleted) }
      let ids = try test.store.read { try $0.headers(in: test.notes).map(\.id) }
      let old = ids.filter { $0 <= 5 }
      // Document 1 was before 2, and document 4 was after 3.
      #expect(old == [3, 4, 5, 1, 2])
    }
  }

  @Test func restoresByPositionWithoutNeighbors() throws {
    try withTestStore { test in
      try fill(test)
      let deleted = try test.store.write { try $0.deleteUndoably([3]) }
      try test.store.write { writer throws in
        try writer.delete(2)
        try writer.delete(4)
      }
      try test.store.write { try $0.restore(deleted) }
      #expect(try test.store.read { try $0.headers(in: test.notes).map(\.id) } == [1, 3, 5])
    }
  }

  @Test func recreatesDroppedCollection() throws {
    try withTestStore { test in
      try test.store.write { writer throws in
        try writer.create(test.notes, titleRule: .derived, foldsKeys: true, attributes: ["colour": "red"])
      }
      try fill(test)
      let deleted = try test.store.write { writer throws in
        let deleted = try writer.deleteUndoably([1, 2, 3, 4, 5])
        try writer.drop(test.notes)
        return deleted
      }
      try test.store.write { try $0.restore(deleted) }
      try test.store.read { reader throws in
        let info = try reader.info(of: test.notes)
        #expect(info.titleRule == .derived && info.foldsKeys && info.attributes == ["colour": "red"])
        #expect(try reader.headers(in: test.notes).map(\.id) == [1, 2, 3, 4, 5])
        #expect(try reader.id(forKey: "K2", in: test.notes) == 2)
      }
    }
  }

  @Test func restoresIntoDroppedCollection() throws {
    try withTestStore { test in
      try fill(test)
      let before = try contents(test)
      let deleted = try test.store.write { try $0.deleteUndoably((1...5).map { DocumentID($0) }) }
      try test.store.write { writer in
        try writer.drop(test.notes)
        try writer.create("other")
      }
      try test.store.write { try $0.restore(deleted) }
      #expect(try contents(test) == before)
      #expect(try test.store.read { try $0.collections().map(\.count) } == [0, 5])
    }
  }

  @Test func ignoresRepeatedIDs() throws {
    try withTestStore { test in
      try fill(test)
      let before = try contents(test)
      let deleted = try test.store.write { try $0.deleteUndoably([3, 2, 3, 2]) }
      #expect(deleted.ids == [3, 2])
      try test.store.write { try $0.restore(deleted) }
      #expect(try contents(test) == before)
    }
  }

  @Test func undoingInReverseRestoresOrder() throws {
    var random = Pseudorandom(seed: 17)
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<12 {
          let placement: Placement = Bool.random(using: &random) ? .top : .bottom
          try writer.insert(Document(text: "\(number)"), into: test.notes, at: placement)
        }
      }
      let before = try test.store.read { try $0.headers(in: test.notes).map(\.id) }
      for _ in 0..<150 {
        var left = before.shuffled(using: &random)
        try test.store.write { writer in
          var undo: [DeletedDocuments] = []
          for _ in 0..<Int.random(in: 1...4, using: &random) {
            let count = min(left.count, Int.random(in: 1...5, using: &random))
            undo.append(try writer.deleteUndoably(left.suffix(count)))
            left.removeLast(count)
          }
          for deleted in undo.reversed() { try writer.restore(deleted) }
        }
        #expect(try test.store.read { try $0.headers(in: test.notes).map(\.id) } == before)
      }
    }
  }

  @Test func omitsParentFromAnotherCollection() throws {
    try withTestStore { test in
      try fill(test)
      let deleted = try test.store.write { try $0.deleteUndoably([5]) }
      try test.store.write { writer throws in
        try writer.move(3, into: "other")
        try writer.restore(deleted)
      }
      #expect(try test.store.read { try $0.header(of: 5).parent } == nil)
    }
  }

  @Test func rejectsSecondRestore() throws {
    try withTestStore { test in
      try fill(test)
      let deleted = try test.store.write { try $0.deleteUndoably([1, 2]) }
      try test.store.write { try $0.restore(deleted) }
      let before = try contents(test)
      try test.store.write { writer throws in
        expect(.alreadyExists) { try writer.restore(deleted) }
        try writer.delete(1)
        try writer.insert(Document(text: "other", key: "k2b"), into: test.notes)
        // Document 1 is restored before the conflict with document 2 is found.
        expect(.alreadyExists) { try writer.restore(deleted) }
        #expect(try !writer.exists(1))
      }
      #expect(try contents(test).count == before.count)
    }
  }

  @Test func rejectsTakenKey() throws {
    try withTestStore { test in
      try fill(test)
      let deleted = try test.store.write { try $0.deleteUndoably([2]) }
      try test.store.write { writer throws in
        try writer.insert(Document(text: "", key: "k2"), into: test.notes)
        expect(.duplicateKey) { try writer.restore(deleted) }
        #expect(try !writer.exists(2))
      }
    }
  }

  @Test func unknownDocumentPreventsDeletion() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.write { writer throws in
        expect(.noSuchDocument) { try writer.deleteUndoably([1, 99]) }
        expect(.noSuchDocument) { try writer.delete([1, 99]) }
        expect(.noSuchDocument) { try writer.delete([2, 99], includingDescendants: true) }
        #expect(try writer.headers(in: test.notes).map(\.id) == [1, 2, 3, 4, 5])
      }
    }
  }

  @Test func deletesManyWithDescendants() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.write { writer throws in
        try writer.delete([1, 1])
        #expect(try writer.headers(in: test.notes).map(\.id) == [2, 3, 4, 5])
        try writer.delete([3, 2], includingDescendants: true)
        #expect(try writer.headers(in: test.notes).map(\.id) == [4])
      }
    }
  }

  @Test func deletesWithoutDecryptingText() throws {
    let test = try TestStore()
    try fill(test)
    try test.raw().execute("UPDATE coffer_record SET body=zeroblob(length(body)) WHERE id=3")
    try test.store.write { writer throws in
      expect(.damaged) { try writer.deleteUndoably([3]) }
      try writer.delete([3])
      #expect(try !writer.exists(3))
    }
  }

  /// Otherwise, the time for many documents grows with the square of their number.
  @Test func readsAllDeletionsOnce() throws {
    try withTestStore { test in
      try fill(test)
      let before = try contents(test)
      var deleted: [DeletedDocuments] = []
      for id: DocumentID in [1, 4, 5] { deleted.append(try test.store.write { try $0.deleteUndoably([id]) }) }
      try test.store.write { writer throws in
        try writer.restore(deleted[0])
        let database = writer.transaction.database
        let sealed = try database.rows("SELECT sealed FROM coffer_gone WHERE gone=3")[0][0].blob ?? []
        let damaged = [UInt8](repeating: 0, count: 100)
        try database.execute("UPDATE coffer_gone SET sealed=? WHERE gone=3", damaged)
        try writer.restore(deleted[1])
        try database.execute("UPDATE coffer_gone SET sealed=? WHERE gone=3", sealed)
        try writer.restore(deleted[2])
        expect(.alreadyExists) { try writer.restore(deleted[2]) }
      }
      #expect(try contents(test).sorted() == before.sorted())
    }
  }

  @Test func deletesDocumentByKey() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.write { writer throws in
        #expect(try writer.delete(forKey: "k2", in: test.notes) == 2)
        #expect(try writer.delete(forKey: "k2", in: test.notes) == nil)
        #expect(try writer.delete(forKey: "k3", in: "other") == nil)
      }
    }
  }

  @Test func returnsIndexOfDocument() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.write { writer throws in
        try writer.move(5, to: .top)
        try writer.insert(Document(text: ""), into: "other")
        for (index, id) in try writer.headers(in: test.notes).map(\.id).enumerated() {
          #expect(try writer.index(of: id) == index)
          #expect(try writer.id(at: index, in: test.notes) == id)
        }
        #expect(try writer.index(of: 6) == 0)
        expect(.noSuchDocument) { try writer.index(of: 9) }
      }
    }
  }

  @Test func omitsParentThatIsDescendantNow() throws {
    try withTestStore { test in
      try fill(test)
      let deleted = try test.store.write { tx in
        try tx.setParent(of: 2, to: 1)
        let deleted = try tx.deleteUndoably([2])
        try tx.setParent(of: 1, to: 5)
        return deleted
      }
      try test.store.write { try $0.restore(deleted) }
      let parents = try test.store.read { try $0.headers(in: test.notes).map(\.parent) }
      #expect(parents == [5, nil, 2, nil, 3])
    }
  }
}
