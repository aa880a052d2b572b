import Coffer
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// Rows that the store renumbers to make space in the order.
struct RenumberingTests {
  /// The position of the next document between `first` and `last`.
  enum Spot: CaseIterable {
    case afterTheFirst, beforeTheLast, inTheMiddle, atBothEndsInTurn
  }

  @Test(.slow, arguments: Spot.allCases)
  func insertingAtSameSpotRewritesFewRows(_ spot: Spot) throws {
    try withTestStore { test in
      let count = 10_000
      var expected: [DocumentID] = []
      let renumbered = try test.store.write { writer in
        var ids: [DocumentID] = []
        for _ in 0..<200 { ids.append(try writer.insert(Document(text: ""), into: test.notes)) }
        for number in 0..<count {
          let index =
            switch spot {
            case .afterTheFirst: 0
            case .beforeTheLast: expected.count
            case .inTheMiddle: expected.count / 2
            case .atBothEndsInTurn: number % 2 == 0 ? 0 : expected.count
            }
          let before = index == 0 ? ids[99] : expected[index - 1]
          expected.insert(try writer.insert(Document(text: ""), into: test.notes, at: .after(before)), at: index)
        }
        expected = ids[..<100] + expected + ids[100...]
        return writer.transaction.renumbered
      }
      #expect(try test.store.read { try $0.headers(in: test.notes).map(\.id) } == expected)
      #expect(renumbered > 0)
      #expect(renumbered < 12 * count, "\(Double(renumbered) / Double(count)) rows each")
    }
  }

  @Test func renumbersOnlyNearbyRows() throws {
    try withTestStore { test in
      let ids = try test.store.write { writer in
        try (0..<1000).map { _ in try writer.insert(Document(text: ""), into: test.notes) }
      }
      let generation = try test.store.read { $0.generation }
      try test.store.write { writer in
        for _ in 0..<100 {
          try writer.move(ids[999], to: .after(ids[500])); try writer.move(ids[998], to: .after(ids[500]))
        }
        #expect(writer.transaction.renumbered > 0)
      }
      let touched = try test.raw().query("SELECT count(*) FROM coffer_record WHERE rev > ?", Int64(generation))
      guard case .integer(let rows) = touched.rows[0][0] else { return }
      #expect(rows <= 20)
    }
  }

  /// Each import reserves space for millions of documents, regardless of its size.
  @Test(.slow, arguments: [BulkOptions.Conflict.fail, .update])
  func importsAtTopRewriteFewRows(_ mode: BulkOptions.Conflict) throws {
    try withTestStore { test in
      let (there, imports) = (2000, 700)
      let options = bulkOptions {
        $0.atTop = true; $0.onConflict = mode
      }
      let renumbered = try test.store.write { writer in
        try writer.insert(contentsOf: ListSource(ListSource.items(there), batch: 500), into: test.notes)
        for number in 1...imports {
          let items = ["a", "b"].map { ListSource.Item(title: "\(number)\($0)") }
          try writer.insert(contentsOf: ListSource(items), into: test.notes, options: options)
        }
        return writer.transaction.renumbered
      }
      let expected = (1...imports).reversed().flatMap { ["\($0)a", "\($0)b"] } + (1...there).map { "\($0)" }
      #expect(try test.store.titles(in: test.notes) == expected)
      #expect(renumbered > 0)
      #expect(renumbered <= 2 * 2 * imports, "\(Double(renumbered) / Double(imports)) rows an import")
    }
  }

  @Test func importAtTopRenumbersOnlyItsCollection() throws {
    try withTestStore { test in
      let other = DocumentCollection("other")
      let id = try test.store.write { writer in
        try writer.insert(Document(text: ""), into: test.notes)
        let id = try writer.insert(Document(text: ""), into: other)
        try writer.transaction.writer.move(id, toPosition: .min)
        return id
      }
      try test.store.write { writer in
        let options = bulkOptions { $0.atTop = true }
        try writer.insert(contentsOf: titlesOnly(["a"]), into: test.notes, options: options)
        #expect(writer.transaction.renumbered == 0)
      }
      #expect(try test.store.read { try $0.header(of: id).position } == .min)
    }
  }

  /// Documents beyond the available full gaps get smaller gaps but remain before existing documents.
  @Test func runStopsBeforeNextDocument() throws {
    let top: Int64 = .min + (1 << 56) + 12345
    var run = try #require(PositionRun(before: top))
    #expect(PositionRun(before: .min + (1 << 56) - 1) == nil)
    var last = Int64.min
    for number in 0..<9_000_000 {
      let position = try run.take()
      guard position > last || number == 0, position < top else {
        Issue.record("\(number): \(position) after \(last)")
        return
      }
      last = position
    }
    var end = PositionRun(from: .max - 10)
    expect(.tooLarge) { try end.take() }
  }

  @Test func skipsMoveAndSortKeepingOrder() throws {
    try withTestStore { test in
      let ids = try test.store.write { writer in
        try (0..<3).map { _ in try writer.insert(Document(text: ""), into: test.notes) }
      }
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

  @Test(arguments: [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max])
  func windowsContainTheirPosition(_ position: Int64) {
    for level in PositionWindow.levels {
      let window = PositionWindow(around: position, level: level)
      #expect(window.bounds.contains(position))
      let gap = window.gap(for: Int(min(window.capacity, 1e6)))
      #expect(gap >= 2)
      if level == 64 { #expect(window.bounds == Int64.min...Int64.max) }
    }
  }

  @Test func insertsAtLowestAndHighestPositions() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let id = try writer.insert(Document(title: "m", text: ""), into: test.notes)
        try writer.transaction.writer.move(id, toPosition: .max)
        for number in 0..<100 { try writer.insert(Document(title: "\(number)", text: ""), into: test.notes) }
        let other = DocumentCollection("other")
        let first = try writer.insert(Document(title: "m", text: ""), into: other)
        try writer.transaction.writer.move(first, toPosition: .min)
        for number in 0..<100 { try writer.insert(Document(title: "\(number)", text: ""), into: other, at: .top) }
      }
      #expect(try test.store.titles(in: test.notes) == ["m"] + (0..<100).map { "\($0)" })
      #expect(try test.store.titles(in: DocumentCollection("other")) == (0..<100).reversed().map { "\($0)" } + ["m"])
    }
  }

  @Test func damagedNeighborKeepsOrderUnchanged() throws {
    let test = try TestStore()
    let ids = try test.store.write { writer in
      try (0..<3).map { _ in try writer.insert(Document(text: ""), into: test.notes) }
    }
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
