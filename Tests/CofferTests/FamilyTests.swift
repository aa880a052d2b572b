import CofferSQLite
import Foundation
import Testing

@testable import Coffer
@testable import CofferRecords

/// Parents and children.
struct FamilyTests {
  /// 1 with the children 2 and 3; 2 with 4 and 5; 6 alone.
  private func makeFamily(_ test: TestStore) throws {
    try test.store.write { writer in
      for parent in [nil, 1, 1, 2, 2, nil] as [DocumentID?] {
        try writer.insert(Document(text: "", parent: parent), into: test.notes)
      }
    }
  }

  @Test func childrenAreInOrderAndDescendantsBelowTheirParents() throws {
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

  @Test func onlyDeleteWithDescendantsDeletesDescendants() throws {
    try withTestStore { test in
      try makeFamily(test)
      try test.store.write { writer in
        try writer.delete(3)
        #expect(try writer.deleteWithDescendants(2).ids == [2, 4, 5])
        #expect(try writer.headers(in: test.notes).map(\.id) == [1, 6])
        try writer.delete(1)
        expect(.noSuchDocument) { try writer.deleteWithDescendants(1) }
        #expect(try writer.count(in: test.notes) == 1)
      }
    }
  }

  @Test func ownDescendantIsNoParent() throws {
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
        // A document under the number that orphans still name would be their parent again.
        expect(.invalidArgument) { try writer.insert(Document(text: "", parent: 4), into: test.notes, id: 6) }
      }
    }
  }

  @Test func readersStopAtParentsThatGoRound() throws {
    try withTestStore { test in
      try makeFamily(test)
      try test.store.write { writer in
        // As another writer of the format may have left it.
        try writer.transaction.writer.setParent(of: 1, to: 5)
        #expect(try writer.descendants(of: 1).map(\.id) == [2, 4, 5, 3])
        #expect(try writer.descendants(of: 5).map(\.id) == [1, 2, 4, 3])
        expect(.invalidArgument) { try writer.setParent(of: 1, to: 4) }
        try writer.setParent(of: 6, to: 1)
        #expect(try writer.deleteWithDescendants(4).ids == [4])
        #expect(Set(try writer.deleteWithDescendants(5).ids) == [5, 1, 2, 3, 6])
      }
    }
  }

  @Test func childThatTheIndexNamesForAnotherParentIsDamaged() throws {
    let test = try TestStore()
    try makeFamily(test)
    let raw = try test.raw()
    try raw.execute("UPDATE coffer_record SET parent = 6 WHERE id = 3")
    try raw.close()
    expect(.damaged) { try test.store.read { try $0.children(of: 6) } }
  }

  @Test func copyOfAnOrphanHasNoParent() throws {
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
