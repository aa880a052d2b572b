import Coffer
import CofferDocuments
import CofferEngine
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Stores and sequences as sources for bulk insertion.
struct DraftSourceTests {
  private func fill(_ store: DocumentStore, _ notes: DocumentCollection) throws {
    try store.write { writer in
      for number in 1...1_500 {
        var document = Document(
          title: number % 3 == 0 ? nil : "t\(number)", text: String(repeating: "x", count: number),
          attributes: ["n": .number(Double(number))], isJSON: number % 7 == 0)
        document.created = Timestamp(millisecondsSince1970: Int64(number))
        document.modified = Timestamp(millisecondsSince1970: Int64(number) * 2)
        if number % 5 == 0 { document.key = DocumentKey("k\(number)") }
        try writer.insert(document, into: notes, at: number % 2 == 0 ? .top : .bottom)
      }
      try writer.setParent(of: 9, to: 8)
    }
  }

  @Test func copiesStoreIntoAnother() throws {
    try withTestStore { from in
      try withTestStore { to in
        try fill(from.store, from.notes)
        var options = BulkOptions()
        options.keepsIDs = true
        let report = try from.store.read { reader in
          try to.store.write {
            try $0.insert(contentsOf: reader.drafts(of: from.notes), into: to.notes, options: options)
          }
        }
        #expect(report.created == 1_500)
        func all(_ test: TestStore) throws -> [(DocumentID, Document)] {
          try test.store.read { reader in try reader.headers(in: test.notes).map { ($0.id, try reader.document($0.id)) }
          }
        }
        let (one, other) = (try all(from), try all(to))
        #expect(one.count == other.count)
        #expect(zip(one, other).allSatisfy { $0.0 == $1.0 && $0.1 == $1.1 })
      }
    }
  }

  @Test func synchronizesStoreFromAnother() throws {
    try withTestStore { from in
      try withTestStore { to in
        try fill(from.store, from.notes)
        var options = SyncOptions(stale: .remove(atMost: 1))
        options.keepsIDs = true
        func synchronize() throws -> SyncReport {
          try from.store.read { reader in
            try to.store.write { try $0.synchronize(to.notes, with: reader.drafts(of: from.notes), options: options) }
          }
        }
        #expect(try synchronize().created.count == 1_500)
        try from.store.write { writer in
          try writer.delete(3)
          try writer.update(4) { $0.text = "changed" }
        }
        let report = try synchronize()
        #expect(report.deleted.map(\.id) == [3])
        #expect(report.updated == [4])
        #expect(report.unchanged.count == 1_498)
      }
    }
  }

  @Test func rejectsSourceOutsideItsScope() throws {
    try withTestStore { test in
      try fill(test.store, test.notes)
      var source = try test.store.read { $0.drafts(of: test.notes) }
      var batch = DraftBatch()
      expect(.misuse) { try source.read(into: &batch) }
    }
  }

  /// Another thread would read the source while this thread writes.
  @Test(arguments: [BulkOptions.Conflict.fail, .skip])
  func rejectsSourceFromInsertingTransaction(_ mode: BulkOptions.Conflict) throws {
    try withTestStore { test in
      try fill(test.store, test.notes)
      let before = try test.store.everything()
      for name in ["copy", test.notes.name] {
        expect(.misuse) {
          try test.store.write { writer in
            var options = BulkOptions()
            options.onConflict = mode
            _ = try writer.insert(
              contentsOf: writer.drafts(of: test.notes), into: DocumentCollection(name), options: options)
          }
        }
      }
      #expect(try test.store.everything() == before)
    }
  }

  @Test func insertsFromSequence() throws {
    try withTestStore { test in
      let documents = (0..<1_000).lazy.map { Document(text: "\($0)", key: DocumentKey("k\($0)")) }
      let report = try test.store.write { try $0.synchronize(test.notes, with: DocumentSource(documents)) }
      #expect(report.created.count == 1_000)
      expect(.invalidArgument) {
        try test.store.write { writer in
          try writer.insert(
            contentsOf: DocumentSource([Document(text: "", attributes: ["x": .number(.nan)])]), into: test.notes)
        }
      }
    }
  }

  @Test func synchronizesValuesByKey() throws {
    struct Price: Codable, Sendable { var name: String, amount: Double }
    try withTestStore { test in
      func synchronize(_ prices: [String: Price]) throws -> SyncReport {
        let items = try prices.sorted { $0.key < $1.key }.map {
          try SyncItem(value: $0.value, key: DocumentKey($0.key), attributes: ["amount": .number($0.value.amount)])
        }
        return try test.store.write {
          try $0.synchronize(test.notes, with: items, options: SyncOptions(stale: .remove(atMost: 1)))
        }
      }
      #expect(
        try synchronize(["a": Price(name: "rope", amount: 1), "b": Price(name: "sail", amount: 2)]).created == [1, 2])
      let report = try synchronize(["a": Price(name: "rope", amount: 1), "c": Price(name: "oar", amount: 3)])
      #expect(report.unchanged == [1] && report.created == [3] && report.deleted.map(\.id) == [2])
      #expect(try test.store.read { try $0.header(of: 3).title } == "oar")
      expect(.notEncodable) { try SyncItem(value: Price(name: "", amount: .nan), key: "x") }
    }
  }
}
