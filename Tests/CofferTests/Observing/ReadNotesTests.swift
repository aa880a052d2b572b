import Coffer
import CofferRecords
import CofferTestSupport
import Foundation
import Testing

@testable import CofferEngine
@testable import CofferStoreTestSupport

/// What an observation notes of each kind of read. A change after which a read gives another result must count.
struct ReadNotesTests {
  private struct Item: Codable, Sendable {
    var n: Int
  }

  private typealias Read = (name: String, read: @Sendable (inout ReadTransaction) throws -> String)

  private static let notes = DocumentCollection("notes")

  /// Every call that reads, with its result as text.
  private static let reads: [Read] = [
    ("header", { "\(try $0.header(of: 3))" }),
    ("text", { try $0.text(of: 3) }),
    ("document", { "\(try $0.document(3))" }),
    ("withText", { try $0.withText(of: 3) { $0.text } }),
    ("exists", { "\(try $0.exists(3 as DocumentID))" }),
    ("value", { "\(try $0.value(Item.self, of: 3))" }),
    ("id of key", { "\(String(describing: try $0.id(forKey: "key", in: notes)))" }),
    ("value of key", { "\(String(describing: try $0.value(Item.self, forKey: "key", in: notes)))" }),
    ("generation", { "\($0.generation)" }),
    ("collections", { "\(try $0.collections())" }),
    ("exists collection", { "\(try $0.exists(notes))" }),
    ("info", { "\(try $0.info(of: notes))" }),
    ("count", { "\(try $0.count(in: notes))" }),
    ("headers", { "\(try $0.headers(in: notes))" }),
    ("page", { "\(try $0.headers(in: notes, offset: 1, limit: 2).map(\.id))" }),
    (
      "forEach",
      { scope in
        var texts: [String] = []
        try scope.forEach(in: notes) { texts.append($0.text) }
        return "\(texts)"
      }
    ),
    ("index", { "\(try $0.index(of: 3))" }),
    ("id at index", { "\(try $0.id(at: 1, in: notes))" }),
    ("sorted", { "\(try $0.ids(in: notes, sortedBy: .text))" }),
    ("children", { "\(try $0.children(of: 3).map(\.id))" }),
    ("descendants", { "\(try $0.descendants(of: 3).map(\.id))" }),
    ("values", { "\(try $0.values(Item.self, in: notes, skippingOthers: true) { $0.n > 2 })" }),
    ("search", { "\(try $0.search(for: .text("é"), in: notes).map(\.header.id))" }),
    ("ranked", { "\(try $0.search(ranked: "é", in: notes).total)" }),
    ("view", { "\(try $0.query("SELECT id, text FROM notes").map(\.values))" }),
    ("field", { "\(try $0.query("SELECT id FROM notes WHERE n > 1").map(\.values))" }),
    (
      "two views",
      { "\(try $0.query("SELECT (SELECT count(*) FROM notes), (SELECT max(size) FROM others)")[0].values)" }
    ),
    ("documents", { "\(try $0.query("SELECT count(*) FROM documents")[0].values)" }),
    (
      "withQuery", { try $0.withQuery("SELECT count(*) FROM notes") { "\(String(describing: try $0.next()?.values))" } }
    ),
    ("indexes", { "\(try $0.indexes(of: notes))" }),
    ("migrations", { "\(try $0.appliedMigrations())" }),
  ]

  /// Returns a read's result, or `nil` for an error, which ends an observation.
  private static func result(_ read: Read, _ scope: inout ReadTransaction) -> String? {
    try? read.read(&scope)
  }

  private static func act(_ writer: inout WriteTransaction, _ random: inout Pseudorandom) throws {
    let collection = random.number(below: 2) == 0 ? notes : "others"
    let ids = try writer.headers(in: collection).map(\.id)
    let text = ["é", "e", "x", ""][random.number(below: 4)]
    switch random.number(below: 12) {
    case 0, 1: try writer.insert(Item(n: random.number(below: 5)), into: collection, at: .top)
    case 2, 3: try writer.insert(Document(text: text), into: collection)
    case 4: if let id = ids.randomElement(using: &random) { try writer.delete(id) }
    case 5: if let id = ids.randomElement(using: &random) { try writer.move(id, to: .top) }
    case 6: if let id = ids.randomElement(using: &random) { try writer.move(id, into: "notes") }
    case 7:
      guard let id = ids.randomElement(using: &random), id != 3 else { return }
      try writer.setParent(of: id, to: try writer.exists(3 as DocumentID) ? 3 : nil)
    case 8: try writer.put(Item(n: random.number(below: 5)), id: 3, into: "notes")
    case 9: _ = try writer.put(Item(n: random.number(below: 5)), into: collection, key: "key")
    case 10: if let id = ids.randomElement(using: &random) { try writer.update(id) { $0.text += text } }
    default:
      switch random.number(below: 6) {
      case 0 where !ids.isEmpty: try writer.drop(collection)
      case 1: if try writer.exists(collection) { try writer.sort(collection, by: .id, descending: true) }
      case 2: if try writer.exists(collection), try !writer.exists("new") { try writer.rename(collection, to: "new") }
      case 3: if try writer.exists("new"), try !writer.exists(notes) { try writer.rename("new", to: "notes") }
      case 4: try writer.setIndexes([.words(), .field("n", "$.n", as: .number)], of: notes)
      default: if try writer.exists(collection) { try writer.reorder([collection]) }
      }
    }
  }

  @Test(arguments: 0..<4) func everyReadCountsChangesOfItsResult(_ seed: Int) async throws {
    let test = try TestStore()
    let store = test.store
    try await store.write { writer in
      for n in 0..<4 { try writer.insert(Item(n: n), into: Self.notes) }
      try writer.insert(Document(text: "é"), into: "others")
      try writer.setIndexes([.words(), .field("n", "$.n", as: .number)], of: Self.notes)
    }
    let engine = store.engine
    let subscription = engine.session.feed.subscribe(
      to: nil, for: .reread, { () throws(StoreError) in try engine.beginning() }, poll: {})
    func look() throws -> [(result: String?, notes: ReadNotes)] {
      try Self.reads.map { read in
        try store.read { scope in
          let notes = ReadNotes()
          scope.transaction.notes = notes
          return (Self.result(read, &scope), notes)
        }
      }
    }
    var known = try look()
    let first = try await store.read { $0.generation }
    var last = first
    for round in 0..<50 {
      // A refused change leaves the store unchanged.
      _ = try? await store.write { writer in
        var random = Pseudorandom(seed: UInt64(1000 * seed + round))
        try Self.act(&writer, &random)
      }
      let generation = try await store.read { $0.generation }
      let change = try await subscription.subscriber.pending()
      let found = try look()
      for (index, read) in Self.reads.enumerated() {
        let (before, notes) = known[index]
        guard before != nil, before != found[index].result else { continue }
        #expect(change.map { notes.mayDiffer(after: $0) } == true, "\(read.name) in round \(round)")
      }
      (known, last) = (found, generation)
    }
    #expect(last > first + 20)
  }

  @Test func readsOfCollectionIgnoreOtherCollections() throws {
    let test = try TestStore()
    let store = test.store
    try store.write { writer in
      for n in 0..<4 { try writer.insert(Item(n: n), into: Self.notes) }
      try writer.insert(Document(text: "é"), into: "others")
      try writer.setIndexes([.words(), .field("n", "$.n", as: .number)], of: Self.notes)
    }
    var change = StoreChange(generation: 9)
    var documents = StoreChange.Documents()
    documents.updated = [5]
    change.collections[CollectionID(2)] = documents
    let everything: Set = [
      "generation", "collections", "info", "children", "descendants", "two views", "documents", "indexes", "migrations",
    ]
    for read in Self.reads {
      try store.read { scope in
        let notes = ReadNotes()
        scope.transaction.notes = notes
        _ = Self.result(read, &scope)
        #expect(notes.mayDiffer(after: change) == everything.contains(read.name), "\(read.name)")
      }
    }
  }

  @Test func manyDocumentsCountAsEverything() {
    let notes = ReadNotes()
    var change = StoreChange(generation: 1)
    var documents = StoreChange.Documents()
    documents.deleted = [-1]
    change.collections[CollectionID(1)] = documents
    for id in 0..<ChangeLog.limit { notes.note(DocumentID(Int64(id + 1))) }
    #expect(!notes.mayDiffer(after: change))
    notes.note(DocumentID(Int64(ChangeLog.limit + 1)))
    #expect(notes.mayDiffer(after: change))
  }
}
