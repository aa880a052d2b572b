import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Types with several schema versions.
struct VersionedValueTests {
  /// Form 1, which an app wrote before its type was versioned.
  struct First: Codable, Sendable {
    var name: String
    var big: UInt64 = .max
  }

  struct Note: VersionedValue, Equatable {
    static let schema = 3
    static var defaults: Note? { Note(title: "") }

    var title: String
    var big: UInt64 = .max
    /// Added in form 3.
    var tags: [String] = ["new"]
    /// Added in form 3, and missing from older JSON.
    var rank = 7

    static func migrate(_ old: OlderValue<Note>) throws -> Note {
      guard old.schema == 1 else { return try old.decode() }
      let first = try old.decode(as: First.self)
      return Note(title: first.name, big: first.big)
    }
  }

  /// Form 2.
  struct Second: VersionedValue {
    static let schema = 2

    var title: String
    var big: UInt64 = .max - 1
  }

  /// Inserts values of forms 1, 2 and 3, each with an app attribute.
  private func fill(_ test: TestStore) throws {
    try test.store.write { writer throws in
      try writer.insert(First(name: "one"), into: test.notes, attributes: ["app": 1])
      try writer.insert(Second(title: "two"), into: test.notes, attributes: ["app": 2])
      try writer.insert(Note(title: "three", tags: []), into: test.notes, attributes: ["app": 3])
    }
  }

  private static let wanted = [
    Note(title: "one"), Note(title: "two", big: .max - 1), Note(title: "three", tags: []),
  ]

  @Test func storesSchemaVersionAsAttribute() throws {
    try withTestStore { test in
      try fill(test)
      let schemas = try test.store.read { try $0.headers(in: test.notes).map { $0.attributes["schema"]?.integer } }
      #expect(schemas == [nil, 2, 3])
    }
  }

  @Test func readsOlderFormsWithoutRewriting() throws {
    try withTestStore { test in
      try fill(test)
      let texts = try test.store.read { reader in try (1...3).map { try reader.text(of: DocumentID($0)) } }
      #expect(try test.store.read { try $0.values(Note.self, in: test.notes).map(\.value) } == Self.wanted)
      #expect(try test.store.read { try $0.value(Note.self, of: 2) } == Self.wanted[1])
      #expect(try test.store.read { reader in try (1...3).map { try reader.text(of: DocumentID($0)) } } == texts)
    }
  }

  @Test func decodesOldValuesWithNewDefaultedField() throws {
    struct Grown: VersionedValue, Equatable {
      static var defaults: Grown? { Grown(name: "") }
      var name: String
      var big: UInt64 = 0
      var isPinned = true
    }
    try withTestStore { test in
      try fill(test)
      let grown = try test.store.read { try $0.value(Grown.self, of: 1) }
      #expect(grown == Grown(name: "one", big: .max, isPinned: true))
    }
  }

  @Test func olderTypeSuppliesItsDefaults() throws {
    struct Older: VersionedValue {
      static var defaults: Older? { Older(name: "") }
      var name: String
      var isPinned = true
    }
    struct Newer: VersionedValue {
      static let schema = 2
      var title: String
      var isPinned: Bool

      static func migrate(_ old: OlderValue<Newer>) throws -> Newer {
        let older = try old.decode(as: Older.self)
        return Newer(title: older.name, isPinned: older.isPinned)
      }
    }
    try withTestStore { test in
      try fill(test)
      let newer = try test.store.read { try $0.value(Newer.self, of: 1) }
      #expect(newer.title == "one" && newer.isPinned)
    }
  }

  @Test func writesCurrentForm() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.write { writer throws in
        try writer.update(1, as: Note.self) { $0.rank = 8 }
        #expect(try writer.value(Second.self, of: 2).title == "two")
        try writer.put(Note(title: "put"), id: 2, into: test.notes)
        try writer.insert(contentsOf: [Note(title: "bulk")], into: test.notes)
      }
      try test.store.read { reader throws in
        let headers = try reader.headers(in: test.notes)
        #expect(headers.map { $0.attributes["schema"]?.integer } == [3, 3, 3, 3])
        #expect(headers.map { $0.attributes["app"]?.integer } == [1, 2, 3, nil])
        #expect(try reader.value(Note.self, of: 1) == Note(title: "one", rank: 8))
      }
    }
  }

  @Test func migratesAllValuesKeepingDates() throws {
    try withTestStore { test in
      try fill(test)
      try test.store.write { try $0.insert(Document(text: "plain"), into: test.notes) }
      let dates = try test.store.read { try $0.headers(in: test.notes).map(\.modified) }
      #expect(try test.store.write { try $0.migrateValues(Note.self, in: test.notes) } == 2)
      #expect(try test.store.write { try $0.migrateValues(Note.self, in: test.notes) } == 0)
      try test.store.read { reader throws in
        let headers = try reader.headers(in: test.notes)
        #expect(headers.map(\.modified) == dates)
        #expect(headers.prefix(3).map { $0.attributes["schema"]?.integer } == [3, 3, 3])
        #expect(try reader.values(Note.self, in: test.notes, skippingOthers: true).map(\.value) == Self.wanted)
      }
    }
  }

  @Test func rejectsNewerForm() throws {
    try withTestStore { test in
      try fill(test)
      do {
        _ = try test.store.read { try $0.value(Second.self, of: 3) }
        Issue.record("a newer form was read")
      } catch let error as StoreError {
        #expect(error.code == .notDecodable)
        #expect(error.message == "document 3 has schema version 3 of Second; this program knows versions up to 2")
        #expect(error.documentID == 3)
      }
      try test.store.write { writer throws in
        expect(.notDecodable) { try writer.migrateValues(Second.self, in: test.notes) }
      }
    }
  }

  @Test func failedMigrationReportsDocument() throws {
    struct Strict: VersionedValue {
      static let schema = 9
      static func migrate(_ old: OlderValue<Strict>) throws -> Strict { throw Interruption() }
    }
    try withTestStore { test in
      try fill(test)
      do {
        _ = try test.store.read { try $0.value(Strict.self, of: 2) }
        Issue.record("the migration did not throw")
      } catch let error as StoreError {
        #expect(
          error.message
            == "document 2 can't be migrated from schema version 2 of Strict: its code threw Interruption"
        )
      }
    }
  }
}
