import CofferEngine
import CofferSQLite
import Foundation
import Testing

@testable import Coffer
@testable import CofferStoreTestSupport

/// The features of wgFileDb, an ordered table of dictionaries in a property list, without its defects.
struct OrderedTableTests {
  struct Row: Codable, Sendable, Equatable {
    var name: String
    var amount: Int
  }

  private let rows = [Row(name: "c", amount: 1), Row(name: "a", amount: 2), Row(name: "b", amount: 3)]

  /// `isDatabase:` `getPathToDb:` `deleteDb:`. Checking and deleting created a missing table first.
  @Test func checksExistenceWithoutCreatingCollection() throws {
    try withTestStore { test in
      #expect(try test.store.read { try $0.exists(test.notes) } == false)
      expect(.noSuchCollection) { try test.store.write { try $0.drop(test.notes) } }
      #expect(try test.store.read { try $0.collections() } == [])
      try test.store.write { try $0.create(test.notes) }
      #expect(try test.store.read { try $0.exists(test.notes) })
      try test.store.write { try $0.drop(test.notes) }
      #expect(try test.store.read { try $0.exists(test.notes) } == false)
    }
  }

  /// `truncateDb:` `getAutoincrementNumberForDb:`. IDs were reused for other content.
  @Test func truncationContinuesIDsUnlessRestarting() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for row in rows { try writer.insert(row, into: test.notes) }
        #expect(try writer.truncate(test.notes) == 3)
        #expect(try writer.count(in: test.notes) == 0)
        #expect(try writer.insert(rows[0], into: test.notes) == 4)
        #expect(try writer.truncate(test.notes, restartingIDs: true) == 1)
        #expect(try writer.insert(rows[0], into: test.notes) == 1)
      }
    }
  }

  /// `getAutoincrementNumberForDb:`, as a property.
  @Test func keepsHighestIDAfterDeletion() throws {
    try withTestStore { test in
      #expect(try test.store.read { $0.highestID } == nil)
      try test.store.write { writer in
        for row in rows { try writer.insert(row, into: test.notes) }
        try writer.delete(3)
        #expect(writer.highestID == 3)
      }
      let other = try test.reopened()
      #expect(try other.read { $0.highestID } == 3)
      try other.close()
    }
  }

  /// `getItemsFromDb:` `getNumberOfItemsInDb:` `saveFullData:toDb:`. Two separate writes could disagree.
  @Test func replacesAllRowsAtomically() throws {
    try withTestStore { test in
      let before = [Document(text: "1", key: "k"), Document(text: "2")]
      try test.store.write { _ = try $0.replaceAll(in: test.notes, with: before) }
      expect(.duplicateKey) {
        try test.store.write {
          _ = try $0.replaceAll(in: test.notes, with: [Document(text: "3", key: "k"), Document(text: "4", key: "k")])
        }
      }
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["1", "2"])
      let ids = try test.store.write {
        try $0.replaceAll(in: test.notes, with: [Document(text: "3", key: "k"), Document(text: "4")])
      }
      #expect(try test.store.read { try $0.headers(in: test.notes).map(\.id) } == ids)
      #expect(try test.store.everything()["notes"]?.map(\.text) == ["3", "4"])
      #expect(try test.store.read { try $0.count(in: test.notes) } == 2)
    }
  }

  /// `getItem:` `getId:`. An unknown ID returned the first row.
  @Test func throwsForUnknownID() throws {
    try withTestStore { test in
      let id = try test.store.write { try $0.insert(rows[0], into: test.notes) }
      #expect(try test.store.read { try $0.value(Row.self, of: id) } == rows[0])
      expect(.noSuchDocument) { try test.store.read { try $0.value(Row.self, of: 99) } }
    }
  }

  /// `addItemToTop:` `addItemToBottom:`. They changed the caller's dictionary.
  @Test func insertsAtTopAndBottom() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let bottom = try writer.insert(rows[0], into: test.notes, at: .bottom)
        let top = try writer.insert(rows[1], into: test.notes, at: .top)
        #expect(try writer.headers(in: test.notes).map(\.id) == [top, bottom])
      }
    }
  }

  /// `updateItem:withData:` `deleteItem:`. An update could lose the ID, and an unknown ID deleted the first row.
  @Test func preservesIDAndRejectsUnknownDeletion() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let id = try writer.insert(rows[0], into: test.notes)
        try writer.put(rows[1], id: id, into: test.notes)
        #expect(try writer.value(Row.self, of: id) == rows[1])
        expect(.noSuchDocument) { try writer.delete(99) }
        #expect(try writer.count(in: test.notes) == 1)
      }
    }
  }

  /// `moveTableItem:to:`, as reported by UITableView. Bounds weren't checked.
  @Test func movesRowsLikeTableView() throws {
    try withTestStore { test in
      let names = ["a", "b", "c", "d", "e"]
      try test.store.write { writer in
        for name in names { try writer.insert(Document(title: name, text: ""), into: test.notes) }
      }
      for source in names.indices {
        for target in names.indices {
          var expected = try test.store.titles(in: test.notes)
          let moved = expected.remove(at: source)
          expected.insert(moved, at: target)
          try test.store.write { try $0.move(fromIndex: source, toIndex: target, in: test.notes) }
          #expect(try test.store.titles(in: test.notes) == expected)
        }
      }
      let before = try test.store.everything()
      for (source, target) in [(-1, 0), (0, -1), (5, 0), (0, 5), (.min, .max)] {
        expect(.indexOutOfRange) {
          try test.store.write { try $0.move(fromIndex: source, toIndex: target, in: test.notes) }
        }
      }
      #expect(try test.store.everything() == before)
    }
  }

  /// Each change rewrote the whole file three times.
  @Test func moveRewritesOnlyMovedRow() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for number in 0..<1000 { try writer.insert(Document(title: "\(number)", text: ""), into: test.notes) }
      }
      let generation = Int64(try test.store.read { $0.generation })
      try test.store.write { writer in
        try writer.move(fromIndex: 900, toIndex: 3, in: test.notes)
        try writer.move(500, to: .top)
        try writer.move(501, to: .bottom)
        try writer.move(502, to: .before(7))
        try writer.move(503, to: .after(7))
      }
      let touched = try test.raw().query("SELECT id FROM coffer_record WHERE rev > ? ORDER BY id", generation)
      #expect(touched.rows.map { $0[0] } == [500, 501, 502, 503, 901])
      let titles = try test.store.titles(in: test.notes).compactMap { $0 }
      #expect(titles.prefix(5) == ["499", "0", "1", "2", "900"] && titles.last == "500")
      #expect(titles[8...10] == ["501", "6", "502"])
    }
  }

  /// `duplicateItemToTop:` `…ToBottom:`. An unknown ID copied the first row.
  @Test func duplicatesWithNewID() throws {
    try withTestStore { test in
      try test.store.write { writer in
        let id = try writer.insert(rows[0], into: test.notes, key: "k")
        try writer.insert(rows[1], into: test.notes)
        let beside = try writer.duplicate(id)
        let top = try writer.duplicate(id, to: .top)
        let bottom = try writer.duplicate(id, to: .bottom)
        #expect(try writer.headers(in: test.notes).map(\.id) == [top, id, beside, 2, bottom])
        #expect(try writer.values(Row.self, in: test.notes).map(\.name) == ["c", "c", "c", "a", "c"])
        #expect(try writer.headers(in: test.notes).map(\.key) == [nil, "k", nil, nil, nil])
        expect(.noSuchDocument) { try writer.duplicate(99) }
        #expect(try writer.count(in: test.notes) == 5)
      }
    }
  }

  /// `sortAscendingByKey:` `sortDescendingByKey:`. They were "in development" and returned unsorted rows.
  @Test func sortsPersistently() throws {
    try withTestStore { test in
      let name = try #require(JSONPath("name"))
      try test.store.write { writer in
        for row in rows { try writer.insert(row, into: test.notes) }
        #expect(try writer.sort(test.notes, by: .json(name)) == 3)
        #expect(try writer.values(Row.self, in: test.notes).map(\.name) == ["a", "b", "c"])
        #expect(try writer.ids(in: test.notes, sortedBy: .id) == [1, 2, 3])
        #expect(try writer.sort(test.notes, by: .json(name), descending: true) == 2)
      }
      #expect(try test.store.read { try $0.values(Row.self, in: test.notes).map(\.name) } == ["c", "b", "a"])
    }
  }

  /// wgIo's size, formatted size and list. It printed 1.9 MB as 1.00.
  @Test func reportsAndFormatsFileSize() throws {
    try withTestStore { test in
      try test.store.write { writer in
        for _ in 0..<20 { try writer.insert(Document(text: String(repeating: "x", count: 95_000)), into: test.notes) }
      }
      let info = try DocumentStore.info(at: test.url)
      #expect(info.fileBytes == Int64(try Data(contentsOf: test.url).count))
      #expect(info.documents == 20 && info.collections.map(\.count) == [20])
      let megabytes = (Double(info.fileBytes) / 100_000).rounded() / 10
      #expect(ByteCount(info.fileBytes).description == "\(megabytes) MB" && megabytes >= 1.9)
    }
  }

  /// wgPaths' default locations. `sqlFile:` created a folder with the file's name.
  @Test func opensStoreAtDefaultLocation() throws {
    let place = try Workplace()
    let url = try DocumentStore.location(named: "my-app/notes", in: place.url)
    #expect(!FileManager.default.fileExists(atPath: url.path))
    var options = OpenOptions.testing
    options.creation.isTest = true
    for opening in [DocumentStore.Opening.created, .opened] {
      let again = try DocumentStore.location(named: "my-app/notes", in: place.url)
      let store = try DocumentStore.open(
        at: again, key: .published("primary"), creatingIfMissing: true, options: options)
      #expect(store.opening == opening)
      try store.close()
    }
    #expect(try FileManager.default.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType == .typeRegular)
  }
}
