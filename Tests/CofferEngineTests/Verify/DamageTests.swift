import Coffer
import CofferRecords
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Changed bytes on disk, which must cause an error or leave the read values correct.
struct DamageTests {
  /// Returns a store with every kind of data, using small pages to keep the file short.
  private func smallStore(_ mode: CreateOptions.Titles) throws -> TestStore {
    let test = try TestStore(keys: [.published("primary"), .words("words")]) {
      $0.titles = mode
      $0.labels = ["one", "two"]
    }
    try test.store.write { writer in
      try writer.create(DocumentCollection("folded"), foldsKeys: true)
      for number in 1...5 {
        try writer.insert(
          Document(
            title: "t\(number)", text: "text \(number)", key: number < 3 ? DocumentKey("k\(number)") : nil,
            attributes: ["n": .number(Double(number))], parent: number == 4 ? 2 : nil,
            created: Timestamp(millisecondsSince1970: 5), modified: Timestamp(millisecondsSince1970: 6)),
          into: number == 3 ? DocumentCollection("folded") : test.notes, at: number == 5 ? .top : .bottom)
      }
    }
    try test.store.close()
    let database = try test.raw()
    try database.execute("PRAGMA page_size = 512; VACUUM")
    try database.close()
    return test
  }

  /// The results of every kind of read.
  private struct Reading: Equatable {
    var listed: [String: [SeenDocument]]
    var headers: [String: [DocumentHeader]]
    var byNumber: [DocumentID: String] = [:]
    var byKey: [String: DocumentID?] = [:]
    var generation: UInt64
    var slots: [String]
  }

  private func read(_ store: DocumentStore) throws -> Reading {
    let listed = try store.everything()
    let slots = try store.keys.list().map(\.label)
    return try store.read { reader in
      var reading = Reading(
        listed: listed, headers: [:], generation: reader.generation, slots: slots)
      for name in listed.keys { reading.headers[name] = try reader.headers(in: DocumentCollection(name)) }
      for id: DocumentID in [1, 2, 3, 4, 5] { reading.byNumber[id] = try reader.text(of: id) }
      for key in ["k1", "k2"] {
        reading.byKey[key] = .some(try reader.id(forKey: DocumentKey(key), in: DocumentCollection("notes")))
      }
      return reading
    }
  }

  /// Returns whether `found` lists only unchanged documents in the original order, some of which may be missing.
  private func isMissingSome(_ found: Reading, of whole: Reading) -> Bool {
    guard found.generation == whole.generation, found.slots == whole.slots, found.byNumber == whole.byNumber else {
      return false
    }
    for (name, documents) in found.listed {
      let all = whole.listed[name] ?? []
      guard documents == all.filter({ documents.contains($0) }), found.headers[name] == documents.map(\.header) else {
        return false
      }
    }
    return found.byKey.allSatisfy { $0.value == nil || $0.value == whole.byKey[$0.key] }
  }

  /// A sample changes every eighth byte in one mode.
  @Test(.slow, arguments: CaseSample.isWhole ? CreateOptions.Titles.allCases : [.clear])
  func detectsFlippedBits(_ mode: CreateOptions.Titles) throws {
    let test = try smallStore(mode)
    let whole = try read(try test.reopened())
    var bytes = Array(try Data(contentsOf: test.url))
    let copy = test.place.file("flipped.coffer")
    var (refused, harmless, missing) = (0, 0, 0)
    for offset in stride(from: 0, to: bytes.count, by: CaseSample.isWhole ? 1 : 8) {
      let place = CaseSample.isWhole ? offset : min(offset + offset / 8 % 8, bytes.count - 1)
      let bit = UInt8(1 << ((place ^ place >> 3) % 8))
      bytes[place] ^= bit
      try Data(bytes).write(to: copy)
      bytes[place] ^= bit
      do {
        let store = try DocumentStore.open(at: copy, key: .published("primary"), options: .testing)
        let found = try read(store)
        if found == whole {
          harmless += 1
        } else {
          missing += 1
          #expect(isMissingSome(found, of: whole), "byte \(place), bit \(bit)")
          #expect(try !store.verify().isSound, "byte \(place), bit \(bit)")
        }
      } catch is StoreError {
        refused += 1
      }
    }
    // About half of each small page is free space.
    #expect(refused > (refused + harmless + missing) / 3 && missing < 100)
  }

  @Test(.slow, arguments: CreateOptions.Titles.allCases)
  func verifyDetectsEachChangedColumn(_ mode: CreateOptions.Titles) throws {
    let test = try smallStore(mode)
    let whole = try Data(contentsOf: test.url)
    let reading = try read(try test.reopened())
    let columns = [
      (
        "coffer_record",
        ["coll", "epoch", "rev", "pos", "parent", "flags", "lookup", "title", "head", "body_nt", "body", "id"]
      ),
      ("coffer_collection", ["coll", "epoch", "rev", "sealed"]),
    ]
    for (table, names) in columns {
      let key = table == "coffer_collection" ? "coll" : "id"
      let rows = try test.raw().query("SELECT \(key) FROM \(table)").rows.map { $0[0] }
      for name in names {
        for row in rows {
          let change =
            switch name {
            case "title": "CASE WHEN title IS NULL THEN 'x' ELSE title || 'x' END"
            case "lookup": "CASE WHEN lookup IS NULL THEN randomblob(16) ELSE NULL END"
            case "head", "body_nt", "body", "sealed":
              "CAST(substr(\(name),1,30) || x'00' || substr(\(name),32) AS BLOB)"
            case "id": "id + 40"
            case "parent": "ifnull(parent,0) + 1"
            case "epoch": "epoch + 1"
            default: "\(name) + 1"
            }
          try whole.write(to: test.url)
          let database = try test.raw()
          // The change fails if another row has the same value, and has no effect if the byte was 0.
          let before = try database.query("SELECT * FROM \(table)").rows
          _ = try? database.execute("UPDATE \(table) SET \(name) = \(change) WHERE \(key) = ?", parameters: [row])
          guard try database.query("SELECT * FROM \(table)").rows != before else { continue }
          try database.close()
          let store = try test.reopened()
          #expect(try !store.verify().isSound, "\(table).\(name) of \(row)")
          if let found = try? read(store) { #expect(isMissingSome(found, of: reading), "\(table).\(name) of \(row)") }
        }
      }
    }
  }

  /// The texts are in a table of their own, so the rows are still the ones that were written.
  @Test func verifyProvesRowsBesideCorruptPageOfTexts() throws {
    let test = try TestStore()
    let text = String(repeating: "long ", count: 4000)
    try test.store.write { for _ in 1...20 { try $0.insert(Document(text: text), into: test.notes) } }
    try test.store.close()
    let database = try test.raw()
    let schema = try database.query("SELECT rootpage FROM sqlite_schema WHERE name = 'coffer_body'")
    let (root, size) = (Int(schema.rows[0][0].integer!), try database.query("PRAGMA page_size").rows[0][0].integer!)
    try database.close()
    var bytes = try Data(contentsOf: test.url)
    let page = (root - 1) * Int(size)
    bytes.replaceSubrange(page..<page + Int(size), with: Data(repeating: 0xFF, count: Int(size)))
    try bytes.write(to: test.url)
    let verdict = try test.reopened().verify()
    #expect(verdict.documents == 20 && verdict.setMatches && verdict.countMatches && verdict.damaged.isEmpty)
    #expect(!verdict.problems.isEmpty && verdict.error?.code == .damaged)
  }

  @Test func forgedIndexPreventsDrop() throws {
    let test = try TestStore()
    try test.store.write { writer in
      try writer.insert(Document(title: "a", text: ""), into: DocumentCollection("first"))
      try writer.insert(Document(title: "b", text: ""), into: DocumentCollection("second"))
    }
    try test.store.close()
    // The forged index lists the second document in the first collection.
    try replaceIndex(of: test, with: "1, pos, id")
    let store = try test.reopened()
    expect(.damaged) { try store.read { try $0.headers(in: DocumentCollection("first")) } }
    expect(.damaged) { try store.write { try $0.drop(DocumentCollection("first")) } }
    #expect(try store.read { try $0.header(of: 2).title } == "b")
    #expect(try !store.verify().isSound)
  }

  /// A deleted document that was put back is a mismatch, although the index of the order has it, too.
  @Test func replayedDocumentPreventsCopy() throws {
    let test = try TestStore()
    try test.store.write { writer in
      for text in ["a", "b"] { try writer.insert(Document(text: text), into: test.notes, at: .bottom) }
    }
    let old = test.place.file("old.coffer")
    try test.store.backup(to: old)
    try test.store.write { try $0.delete(2) }
    try test.store.close()
    let database = try test.raw()
    try database.execute("ATTACH '\(old.path)' AS old")
    try database.execute("INSERT INTO main.coffer_record SELECT * FROM old.coffer_record WHERE id = 2")
    try database.close()
    let store = try test.reopened()
    expect(.setMismatch) {
      try store.copy(to: test.place.file("copy.coffer"), keys: [.published("next")])
    }
  }

  /// A copy takes the order from the index, and compares it with the documents.
  @Test func forgedIndexPreventsReorderedCopy() throws {
    let test = try TestStore()
    let ids = try test.store.write { writer in
      try ["a", "b", "c"].map { try writer.insert(Document(text: $0), into: test.notes, at: .bottom) }
    }
    try test.store.close()
    try replaceIndex(
      of: test,
      with:
        "coll, (SELECT pos FROM coffer_record o WHERE o.id = (CASE coffer_record.id WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE 3 END)), id"
    )
    let store = try test.reopened()
    let target = test.place.file("copy.coffer")
    for selection in [Selection.everything, .collections([test.notes]), .documents(Array(ids[..<2]))] {
      let error = try #require(throws: StoreError.self) {
        try store.copy(selection, to: target, keys: [.published("next")])
      }
      #expect(error.code == .damaged && error.message.contains("order"), "\(error)")
    }
    #expect(!FileManager.default.fileExists(atPath: target.path))
  }

  @Test(arguments: [[1, 0, 2, 3, 4], [0, 0, 2, 3, 4], [0, 1, 2, 4, 3]])
  func listsDetectReorderedIndex(_ order: [Int]) throws {
    let test = try TestStore()
    try test.store.write { writer in
      for number in 1...5 { try writer.insert(Document(title: "\(number)", text: ""), into: test.notes) }
    }
    let headers = try test.store.read { try $0.headers(in: test.notes) }
    try test.store.close()
    try point(to: order, in: "coffer_record_pos", of: test)

    let store = try test.reopened()
    expect(.damaged) { try store.read { try $0.headers(in: test.notes) } }
    expect(.damaged) { try store.read { try $0.forEach(in: test.notes) { _ in } } }
    #expect(try store.read { try $0.header(of: 3) } == headers[2])
    #expect(try !store.verify().isSound)
  }

  /// Without this check, a collection listed twice would be exported twice.
  @Test(arguments: [[1, 1], [0, 0], [1, 0]])
  func detectsReorderedCollections(_ order: [Int]) throws {
    let test = try TestStore()
    try test.store.write { writer in
      for name in ["one", "two"] {
        try writer.insert(Document(title: name, text: ""), into: DocumentCollection(name))
      }
    }
    try test.store.close()
    try point(to: order, in: "coffer_collection", of: test)
    let store = try test.reopened()
    expect(.damaged) { try store.read { try $0.collections() } }
    #expect(try !store.verify().isSound)
  }

  /// Reorders the entry pointers of a single-page table or index, which start at byte 8, without changing the entries.
  private func point(to order: [Int], in name: String, of test: TestStore) throws {
    let root = try test.raw().query("SELECT rootpage FROM sqlite_schema WHERE name = ?", name).rows[0][0]
    guard case .integer(let page) = root else { return #expect(Bool(false)) }
    var bytes = Array(try Data(contentsOf: test.url))
    let start = Int(page - 1) * StoreFormat.pageSize
    // The page is a leaf of an index or a table.
    #expect([0x0A, 0x0D].contains(bytes[start]) && Int(bytes[start + 4]) == order.count)
    let pointers = order.indices.map { Array(bytes[start + 8 + 2 * $0..<start + 10 + 2 * $0]) }
    for (place, entry) in order.enumerated() {
      bytes.replaceSubrange(start + 8 + 2 * place..<start + 10 + 2 * place, with: pointers[entry])
    }
    try Data(bytes).write(to: test.url)
  }

  /// Replaces the index used for lists with an index over other values.
  private func replaceIndex(of test: TestStore, with columns: String) throws {
    let database = try test.raw()
    try database.execute(
      """
      PRAGMA writable_schema = ON;
      CREATE TABLE other(coll INTEGER NOT NULL, pos INTEGER NOT NULL, id INTEGER PRIMARY KEY);
      INSERT INTO other SELECT \(columns) FROM coffer_record;
      CREATE INDEX other_pos ON other(coll,pos);
      UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'other_pos')
        WHERE name = 'coffer_record_pos';
      DELETE FROM sqlite_schema WHERE name LIKE 'other%'
      """)
    try database.close()
  }
}
