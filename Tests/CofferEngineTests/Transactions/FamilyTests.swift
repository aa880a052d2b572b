import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Parents and children.
struct FamilyTests {
  /// Inserts document 1 with children 2 and 3, document 2 with children 4 and 5, and document 6 without children.
  private func makeFamily(_ test: TestStore) throws {
    try test.store.write { writer in
      for parent in [nil, 1, 1, 2, 2, nil] as [DocumentID?] {
        try writer.insert(Document(text: "", parent: parent), into: test.notes)
      }
    }
  }

  @Test func listsChildrenAndDescendantsInOrder() throws {
    try withTestStore { test in
      try makeFamily(test)
      try test.store.write { try $0.move(5, to: .top) }
      try test.store.read { reader throws in
        #expect(try reader.children(of: 1).map(\.id) == [2, 3])
        #expect(try reader.children(of: 2).map(\.id) == [5, 4])
        #expect(try reader.children(of: 6) == [])
        #expect(try reader.children(of: 99) == [])
        #expect(try reader.descendants(of: 1).map(\.id) == [2, 5, 4, 3])
      }
    }
  }

  @Test func deletesDescendantsOnRequest() throws {
    try withTestStore { test in
      try makeFamily(test)
      try test.store.write { writer in
        try writer.delete(3)
        #expect(try writer.deleteUndoably([2], includingDescendants: true).ids == [2, 4, 5])
        #expect(try writer.headers(in: test.notes).map(\.id) == [1, 6])
        try writer.delete(1)
        expect(.noSuchDocument) { try writer.delete(1, includingDescendants: true) }
        #expect(try writer.count(in: test.notes) == 1)
      }
    }
  }

  @Test func rejectsDescendantAsParent() throws {
    try withTestStore { test in
      try makeFamily(test)
      try test.store.write { writer in
        for parent in [1, 2, 5, 99] as [DocumentID] {
          expect(.invalidArgument) { try writer.setParent(of: 1, to: parent) }
        }
        expect(.invalidArgument) { try writer.update(2) { $0.parent = 4 } }
        try writer.setParent(of: 4, to: 6)
        try writer.setParent(of: 3, to: nil)
        #expect(try writer.children(of: 6).map(\.id) == [4])
        #expect(try writer.children(of: 1).map(\.id) == [2])
        try writer.delete(6)
        // A document inserted with this ID would become the parent of the orphans.
        expect(.invalidArgument) { try writer.insert(Document(text: "", parent: 4), into: test.notes, id: 6) }
      }
    }
  }

  @Test func stopsAtCyclicParents() throws {
    try withTestStore { test in
      try makeFamily(test)
      try test.store.write { writer in
        // Another implementation may have written this cycle.
        try writer.transaction.writer.setParent(of: 1, to: 5)
        #expect(try writer.descendants(of: 1).map(\.id) == [2, 4, 5, 3])
        #expect(try writer.descendants(of: 5).map(\.id) == [1, 2, 4, 3])
        expect(.invalidArgument) { try writer.setParent(of: 1, to: 4) }
        try writer.setParent(of: 6, to: 1)
        #expect(try writer.deleteUndoably([4], includingDescendants: true).ids == [4])
        #expect(Set(try writer.deleteUndoably([5], includingDescendants: true).ids) == [5, 1, 2, 3, 6])
      }
    }
  }

  @Test func reportsForgedParentAsDamage() throws {
    let test = try TestStore()
    try makeFamily(test)
    let raw = try test.raw()
    try raw.execute("UPDATE coffer_record SET parent = 6 WHERE id = 3")
    try raw.close()
    expect(.damaged) { try test.store.read { try $0.children(of: 6) } }
  }

  @Test func duplicatesOrphanWithoutParent() throws {
    try withTestStore { test in
      try makeFamily(test)
      try test.store.write { writer in
        #expect(try writer.header(of: try writer.duplicate(3)).parent == 1)
        try writer.delete(1)
        #expect(try writer.header(of: try writer.duplicate(3)).parent == nil)
      }
    }
  }
}
