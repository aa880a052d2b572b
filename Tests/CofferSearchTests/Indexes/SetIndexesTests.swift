import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSearch
@testable import CofferStoreTestSupport

/// Indexes that are declared in a transaction.
struct SetIndexesTests {
  private static let number: DocumentIndex = .field("n", "$.n", as: .number)

  private func fill(_ test: TestStore, _ collections: DocumentCollection..., count: Int = 30) throws {
    try test.store.write { tx in
      for collection in collections {
        for number in 1...count {
          try tx.insert(Document(text: #"{"n":\#(number),"w":"word\#(number % 3)"}"#, isJSON: true), into: collection)
        }
      }
    }
  }

  private func roots(_ test: TestStore) throws -> [[SQLiteValue]] {
    try test.raw().query("SELECT part, sealed FROM coffer_x_index").rows.map(\.values)
  }

  @Test func declaresExactlyTheseIndexes() throws {
    try withTestStore { test in
      try fill(test, test.notes)
      try test.store.write { try $0.setIndexes([.words(), .titles, Self.number], of: test.notes) }
      #expect(try test.store.read { try $0.indexes(of: test.notes) } == [.words(), .titles, Self.number])
      let replaced: [DocumentIndex] = [.words(keepingDiacritics: true), .field("n", "$.w", as: .text)]
      let fields = try test.store.write { try $0.setIndexes(replaced, of: test.notes) }
      #expect(fields == [IndexedField(name: "n", values: 30, nulls: 0)])
      #expect(try test.store.read { try $0.indexes(of: test.notes) } == replaced)
      #expect(try test.store.read { try $0.query("SELECT count(*) FROM notes WHERE n = 'word1'") }.rows[0][0] == 10)
      try test.store.write { try $0.setIndexes([], of: test.notes) }
      #expect(try test.store.read { try $0.indexes(of: test.notes) }.isEmpty)
      expect(.noIndex) { try test.store.read { try $0.search(ranked: "word1", in: test.notes) } }
      try test.store.write { try $0.setIndexes([], of: "missing") }
      #expect(try !test.store.read { try $0.exists("missing") })
    }
  }

  @Test func unchangedDeclarationWritesNothing() throws {
    try withTestStore { test in
      try fill(test, test.notes)
      try test.store.write {
        try $0.setIndexes([.words(), Self.number, .field("w", "$.w", as: .text)], of: test.notes)
      }
      let (before, anchor) = (try roots(test), try test.store.anchor())
      let fields = try test.store.write {
        try $0.setIndexes([.field("w", "$.w", as: .text), Self.number, .words()], of: test.notes)
      }
      #expect(try fields.isEmpty && roots(test) == before && test.store.anchor() == anchor)
    }
  }

  /// Composed and decomposed forms are equal Strings, but different names and paths.
  @Test func comparesNamesAndPathsByBytes() throws {
    try withTestStore { test in
      let members = ["caf\u{E9}", "cafe\u{301}"]
      let text = "{\"\(members[0])\":\"composed\",\"\(members[1])\":\"decomposed\"}"
      try test.store.write { tx in _ = try tx.insert(Document(text: text, isJSON: true), into: test.notes) }
      for (member, word) in zip(members, ["composed", "decomposed"]) {
        let path = "$." + member
        let indexes: [DocumentIndex] = [
          .words(in: path), .field("p", path, as: .text), .field(member, path, as: .text), .fields(["p", member]),
        ]
        let fields = try test.store.write { try $0.setIndexes(indexes, of: test.notes) }
        #expect(fields.map(\.values) == [1, 1])
        let row = try test.store.read { try $0.query("SELECT p, \"\(member)\" FROM notes") }.rows[0]
        #expect(row.values.map(\.text) == [word, word])
        #expect(try test.store.read { try $0.search(ranked: word, in: test.notes) }.total == 1)
      }
      let both = members.map { DocumentIndex.field($0, "$." + $0, as: .text) }
      try test.store.write { try $0.setIndexes(both + [.fields(members)], of: test.notes) }
      let row = try test.store.read { try $0.query("SELECT \"\(members[0])\", \"\(members[1])\" FROM notes") }.rows[0]
      #expect(row.values.map(\.text) == ["composed", "decomposed"])
      #expect(try test.store.verify(.full).indexProblems.isEmpty)
      try test.store.dropIndexes(test.notes, [.fields(members), both[0]])
      #expect(try test.store.indexedFields(of: test.notes).map { Array($0.name.utf8) } == [Array(members[1].utf8)])
    }
  }

  @Test func invalidDeclarationLeavesIndexesAndTransaction() throws {
    try withTestStore { test in
      try fill(test, test.notes)
      try test.store.write { tx in
        try tx.setIndexes([.words()], of: test.notes)
        expect(.invalidArgument) { try tx.setIndexes([.field("x", "$[", as: .number)], of: test.notes) }
        expect(.alreadyExists) { try tx.setIndexes([.field("Title", "$.n", as: .number)], of: "other") }
        try tx.insert(Document(text: "word1"), into: test.notes)
        #expect(try !tx.exists("other"))
        #expect(try tx.search(ranked: "word1", in: test.notes).total == 11)
      }
      #expect(try test.store.read { try $0.indexes(of: test.notes) } == [.words()])
    }
  }

  /// Documents that the same transaction writes, moves and deletes before and after the declaration are found.
  @Test(arguments: HistorySeeds.first(12))
  func transactionSeesItsIndexes(_ seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    let names: [DocumentCollection] = ["notes", "other", "third"]
    let sets: [[DocumentIndex]] = [
      [], [.words()], [Self.number], [.words(), Self.number, .titles], [.substrings, .field("n", "$.w", as: .text)],
    ]
    try withTestStore({ $0.journal = seed.isMultiple(of: 2) ? .rollback : .writeAheadLog }) { test in
      try fill(test, names[0], names[1], names[2], count: 8)
      var declared: [DocumentCollection: [DocumentIndex]] = [:]
      for _ in 0..<8 {
        var after = declared
        let fails = random.number(below: 4) == 0
        do {
          try test.store.write { tx in
            for _ in 0...random.number(below: 6) {
              let name = names[random.number(below: 3)]
              let found = try tx.headers(in: name).randomElement(using: &random)?.id
              switch (random.number(below: 6), found) {
              case (0, let id?): try tx.move(id, into: names[random.number(below: 3)])
              case (1, let id?): try tx.delete(id)
              case (2, let id?):
                try tx.update(id) { $0.text = #"{"n":\#(random.number(below: 50)),"w":"word9 new"}"# }
              case (3, _):
                try? tx.savepoint { tx in
                  try tx.setIndexes(sets[random.number(below: 5)], of: name)
                  try tx.insert(Document(text: #"{"n":1,"w":"undone"}"#, isJSON: true), into: name)
                  throw Interruption()
                }
              case (4, _):
                let set = sets[random.number(below: 5)]
                try tx.setIndexes(set, of: name)
                after[name] = set
              default:
                try tx.insert(
                  Document(text: #"{"n":\#(random.number(below: 50)),"w":"word1"}"#, isJSON: true), into: name)
              }
              try check(after, names, tx)
            }
            if fails { throw Interruption() }
          }
          declared = after
        } catch is Interruption {}
        try test.store.read { try check(declared, names, $0) }
        let verdict = try test.store.verify(.full)
        #expect(verdict.isSound && verdict.indexProblems.isEmpty, "\(verdict.indexProblems)")
      }
    }
  }

  private func check(
    _ declared: [DocumentCollection: [DocumentIndex]], _ names: [DocumentCollection],
    _ scope: borrowing some StoreReading & ~Copyable
  ) throws {
    for name in names {
      let indexes = declared[name] ?? []
      #expect(try Set(scope.indexes(of: name)) == Set(indexes))
      let texts = try scope.headers(in: name).map { try scope.text(of: $0.id) }
      if indexes.contains(.words()) {
        let wanted = texts.count { $0.contains("word1") }
        #expect(try scope.search(ranked: "word1", in: name).total == wanted)
        #expect(try scope.search(ranked: "undone", in: name).total == 0)
      }
      if indexes.contains(Self.number) {
        let sum = try scope.query("SELECT sum(n), count(*) FROM \(name.name)").rows[0]
        let scanned = try scope.query(
          "SELECT sum(json ->> '$.n'), count(*) FROM documents WHERE collection = ?", name
        ).rows[0]
        #expect(sum.values == scanned.values)
      }
    }
  }

  /// The index is written while documents are there that the transaction deletes again.
  @Test func forgetsDocumentsOfTheSameTransaction() throws {
    try withTestStore { test in
      try fill(test, test.notes, count: 3)
      try test.store.write { tx in
        let id = try tx.insert(Document(text: #"{"n":99,"w":"passing"}"#, isJSON: true), into: test.notes)
        try tx.attach([1], to: 1, name: "passing")
        try tx.setIndexes([.words(), .titles, Self.number], of: test.notes)
        try tx.delete(id)
        try tx.detach(tx.attachments(of: 1)[0].id)
      }
      for _ in 0..<2 {
        try test.store.read { reader throws in
          #expect(try reader.query("SELECT count(*) FROM notes").rows[0][0] == 3)
          #expect(try reader.query("SELECT n FROM notes ORDER BY n").rows.map { $0[0].integer } == [1, 2, 3])
          #expect(try reader.search(ranked: "passing", in: test.notes).total == 0)
          #expect(try reader.search(ranked: "word1", in: test.notes).total == 1)
        }
        #expect(try test.store.verify(.full).isSound)
        try test.store.updateIndexes()
      }
    }
  }
}
