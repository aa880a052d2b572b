import Coffer
import CofferDocuments
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// The positions of documents in a store.
struct PositionTests {
  private let lowest = DocumentPosition([0])!
  private let highest = DocumentPosition(Array(repeating: 0xFF, count: 255))!

  private func positions(_ test: borrowing TestStore) throws -> [DocumentPosition] {
    try test.store.read { try $0.headers(in: test.notes).map(\.position) }
  }

  private func inserted(_ count: Int, _ test: borrowing TestStore) throws -> [DocumentID] {
    try test.store.write { writer in
      try (0..<count).map { _ in try writer.insert(Document(text: ""), into: test.notes) }
    }
  }

  /// The place of the next document between two others.
  enum Pattern: CaseIterable {
    case afterFirst, beforeLast, middle, bothEndsInTurn
  }

  @Test(.slow, arguments: Pattern.allCases)
  func insertionsAtOneSpotGetShortPositions(_ pattern: Pattern) throws {
    try withTestStore { test in
      let ids = try inserted(200, test)
      var expected: [DocumentID] = []
      try test.store.write { writer in
        for number in 0..<CaseSample.count(3000, ofLongRun: 10_000) {
          let index =
            switch pattern {
            case .afterFirst: 0
            case .beforeLast: expected.count
            case .middle: expected.count / 2
            case .bothEndsInTurn: number % 2 == 0 ? 0 : expected.count
            }
          let before = index == 0 ? ids[99] : expected[index - 1]
          expected.insert(try writer.insert(Document(text: ""), into: test.notes, at: .after(before)), at: index)
        }
      }
      #expect(try test.store.read { try $0.headers(in: test.notes).map(\.id) } == ids[..<100] + expected + ids[100...])
      #expect(try positions(test).allSatisfy { $0.bytes.count <= (pattern == .middle ? 255 : 26) })
    }
  }

  @Test func appendedDocumentsContinueTheirRun() throws {
    try withTestStore { test in
      for _ in 0..<200 { _ = try inserted(1, test) }
      let positions = try positions(test)
      #expect(positions.allSatisfy { $0.bytes.count <= 7 } && Set(positions.map { $0.bytes.prefix(4) }).count == 1)
    }
  }

  /// Another copy of the store may still have the deleted documents, so their positions aren't given again.
  @Test func bulkInsertEndsRun() throws {
    try withTestStore { test in
      _ = try inserted(1, test)
      try test.store.write { writer in
        try writer.insert(contentsOf: ListSource(ListSource.items(5)), into: test.notes)
      }
      let bulk = try positions(test).dropFirst()
      let ids = try test.store.read { try $0.headers(in: test.notes).dropFirst().map(\.id) }
      try test.store.write { writer in for id in ids { try writer.delete(id) } }
      _ = try inserted(3, test)
      #expect(try Set(bulk).isDisjoint(with: positions(test)))
    }
  }

  /// Each insertion halves the last gap, so that positions grow until those around them are renewed.
  @Test func exhaustedNeighborhoodGetsNewPositions() throws {
    try withTestStore { test in
      let ids = try inserted(1000, test)
      let generation = try test.store.read { $0.generation }
      var expected = [ids[499], ids[500]]
      try test.store.write { writer in
        var place = 1
        for number in 0..<700 {
          let new = try writer.insert(Document(text: ""), into: test.notes, at: .after(expected[place - 1]))
          expected.insert(new, at: place)
          if number % 2 == 0 { place += 1 }
        }
      }
      expected = ids[..<499] + expected + ids[501...]
      #expect(try test.store.read { try $0.headers(in: test.notes).map(\.id) } == expected)
      let moved = try test.raw().query(
        "SELECT count(*) FROM coffer_record WHERE rev > ? AND id <= 1000", Int64(generation)
      ).rows[0][0].integer
      #expect(try #require(moved) < 40)
      #expect(try positions(test).contains { $0.bytes.count > 100 })
      try test.store.write { _ = try $0.sort(test.notes, by: .id) }
      #expect(try test.store.verify().isSound)
    }
  }

  @Test(.slow, arguments: [BulkOptions.Conflict.fail, .update])
  func importsAtTopKeepTheirOrder(_ mode: BulkOptions.Conflict) throws {
    try withTestStore { test in
      let (there, imports) = (2000, 700)
      let options = bulkOptions {
        $0.atTop = true; $0.onConflict = mode
      }
      try test.store.write { writer in
        try writer.insert(contentsOf: ListSource(ListSource.items(there), batch: 500), into: test.notes)
        for number in 1...imports {
          let items = ["a", "b"].map { ListSource.Item(title: "\(number)\($0)") }
          try writer.insert(contentsOf: ListSource(items), into: test.notes, options: options)
        }
      }
      let expected = (1...imports).reversed().flatMap { ["\($0)a", "\($0)b"] } + (1...there).map { "\($0)" }
      #expect(try test.store.titles(in: test.notes) == expected)
      #expect(try positions(test).allSatisfy { $0.bytes.count <= 9 })
    }
  }

  @Test func skipsMoveAndSortKeepingOrder() throws {
    try withTestStore { test in
      let ids = try inserted(3, test)
      let before = try test.store.everything()
      let generation = try test.store.read { $0.generation }
      try test.store.write { writer in
        try writer.move(ids[0], to: .top)
        try writer.move(ids[1], to: .after(ids[0]))
        try writer.move(ids[1], to: .before(ids[2]))
        try writer.move(ids[2], to: .bottom)
        try writer.move(fromIndex: 1, toIndex: 1, in: test.notes)
        try writer.sort(test.notes, by: .id)
      }
      #expect(try test.store.read { $0.generation } == generation)
      #expect(try test.store.everything() == before)
    }
  }

  /// A writer that follows another rule may choose any bytes.
  @Test func insertsBesideForeignPositions() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let id = try writer.insert(Document(title: "m", text: ""), into: test.notes)
        try writer.transaction.writer.move(id, toPosition: highest)
        for number in 0..<20 { try writer.insert(Document(title: "\(number)", text: ""), into: test.notes) }
        let other = DocumentCollection("other")
        let first = try writer.insert(Document(title: "m", text: ""), into: other)
        try writer.transaction.writer.move(first, toPosition: lowest)
        for number in 0..<20 { try writer.insert(Document(title: "\(number)", text: ""), into: other, at: .top) }
        let third = DocumentCollection("third")
        let ids = try ["a", "b"].map { try writer.insert(Document(title: $0, text: ""), into: third) }
        for (id, last) in zip(ids, [1, 2] as [UInt8]) {
          try writer.transaction.writer.move(id, toPosition: DocumentPosition([0x80, 0xFF, last])!)
        }
        for number in 0..<20 {
          try writer.insert(Document(title: "\(number)", text: ""), into: third, at: .before(ids[1]))
        }
      }
      #expect(try test.store.titles(in: test.notes) == ["m"] + (0..<20).map { "\($0)" })
      #expect(try test.store.titles(in: DocumentCollection("other")) == (0..<20).reversed().map { "\($0)" } + ["m"])
      #expect(try test.store.titles(in: DocumentCollection("third")) == ["a"] + (0..<20).map { "\($0)" } + ["b"])
    }
  }

  /// Documents with one position are listed by ID. An insertion between them goes beside them.
  @Test func insertsBesideEqualPositions() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let ids = try ["a", "b", "c", "d"].map { try writer.insert(Document(title: $0, text: ""), into: test.notes) }
        let position = try writer.header(of: ids[1]).position
        try writer.transaction.writer.move(ids[2], toPosition: position)
        try writer.insert(Document(title: "after b", text: ""), into: test.notes, at: .after(ids[1]))
        try writer.insert(Document(title: "before c", text: ""), into: test.notes, at: .before(ids[2]))
      }
      #expect(try test.store.titles(in: test.notes) == ["a", "before c", "b", "c", "after b", "d"])
      try test.store.write { _ = try $0.sort(test.notes, by: .title, descending: true) }
      #expect(try test.store.titles(in: test.notes) == ["d", "c", "before c", "b", "after b", "a"])
    }
  }

  @Test func damagedNeighborKeepsOrderUnchanged() throws {
    let test = try TestStore()
    let ids = try inserted(3, test)
    let raw = try test.raw()
    try raw.execute("UPDATE coffer_record SET head = zeroblob(length(head)) WHERE id = ?", ids[1].rawValue)
    try raw.close()
    let before = try test.bytesOnDisk()
    expect(.damaged) {
      try test.store.write { writer in
        for _ in 0..<100 { try writer.insert(Document(text: ""), into: test.notes, at: .after(ids[0])) }
        try writer.sort(test.notes, by: .title)
      }
    }
    #expect(try test.bytesOnDisk() == before)
  }
}
