import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Random histories by two open stores. Applying the differences like a table view must produce the list in the store.
struct ObservedHistoryTests {
  private static let notes = DocumentCollection("notes")
  private static let others = DocumentCollection("others")

  private struct History {
    var random: Pseudorandom
    /// The current name of the observed collection.
    var name = "notes"
    var count = 0

    mutating func number(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    /// Commits one to four random changes in a transaction.
    mutating func commit(_ store: DocumentStore) throws {
      var copy = self
      try store.write { writer in
        for _ in 0...copy.number(4) { try copy.act(&writer) }
      }
      self = copy
    }

    private mutating func act(_ writer: inout WriteTransaction) throws {
      let collection = DocumentCollection(name)
      let ids = try writer.headers(in: collection).map(\.id)
      func pick(_ history: inout History) -> DocumentID? { ids.isEmpty ? nil : ids[history.number(ids.count)] }
      count += 1
      switch number(24) {
      case 0...4:
        let places: [Placement] = [.top, .bottom] + (pick(&self).map { [.before($0), .after($0)] } ?? [])
        try writer.insert(Document(title: "\(count)", text: "t"), into: collection, at: places[number(places.count)])
      case 5: try writer.insert(contentsOf: (0..<number(30)).map { Document(text: "\($0)") }, into: collection)
      case 6, 7: if let id = pick(&self) { try writer.delete(id) }
      case 8...12:
        guard let id = pick(&self), let other = pick(&self) else { return }
        let places: [Placement] = [.top, .bottom, .before(other), .after(other)]
        try writer.move(id, to: places[number(4)])
      case 13, 14:
        if let id = pick(&self) { try writer.update(id) { $0.title = "updated \(count)" } }
      case 15:
        // Inserts documents at one position, so positions there get longer.
        guard let id = pick(&self) else { return }
        for _ in 0..<40 { try writer.insert(Document(text: "squeezed"), into: collection, at: .after(id)) }
      case 16: if let id = pick(&self) { try writer.move(id, into: ObservedHistoryTests.others) }
      case 17:
        if let header = try writer.headers(in: ObservedHistoryTests.others, limit: 1).first {
          try writer.move(header.id, into: collection, at: .top)
        }
      case 18: try writer.sort(collection, by: number(2) == 0 ? .title : .id, descending: number(2) == 0)
      case 19:
        for id in ids.shuffled(using: &random).prefix(ids.count / 2) { try writer.delete(id) }
      case 20: if number(3) == 0 { try writer.truncate(collection, restartingIDs: number(2) == 0) }
      case 21:
        guard number(3) == 0, try writer.exists(collection) else { return }
        let new = name == "notes" ? "renamed" : "notes"
        if try !writer.exists(DocumentCollection(new)) {
          try writer.rename(collection, to: new)
          name = new
        }
      case 22:
        guard number(4) == 0, try writer.exists(collection) else { return }
        try writer.drop(collection)
        name = "notes"
      default:
        // These changes are rolled back, so they must not be reported.
        let inner = self
        #expect(throws: Interruption()) {
          try writer.savepoint { writer in
            if let id = ids.first { try writer.delete(id) }
            _ = try writer.insert(Document(text: "never"), into: collection, at: .top)
            throw Interruption()
          }
        }
        self = inner
      }
    }
  }

  @Test(.slow, arguments: [Int.max, 1, 7, 60], 0..<4)
  func differencesReproduceStoreList(_ limit: Int, _ seed: Int) async throws {
    let test = try TestStore()
    let stores = [test.store, try test.reopened()]
    try await test.store.write { try $0.insert(Document(text: ""), into: Self.others) }
    var history = History(random: Pseudorandom(seed: UInt64(seed)))
    let list = test.store.observe(Self.notes, first: limit)
    var iterator = list.makeAsyncIterator()
    var model = ListModel()
    for round in 0..<60 {
      for _ in 0..<(1 + history.number(3)) { try history.commit(stores[history.number(2)]) }
      let collection = DocumentCollection(history.name)
      // Make a change at the top, because it's visible at any limit and reported immediately.
      try await test.store.write { writer in
        if let first = try writer.headers(in: collection, limit: 1).first {
          try writer.update(first.id) { $0.title = "round \(round)" }
        } else {
          try writer.insert(Document(title: "round \(round)", text: ""), into: collection)
        }
      }
      let generation = try await test.store.read { $0.generation }
      while true {
        let change = try #require(try await iterator.next())
        try model.take(change)
        if change.generation == generation { break }
      }
      model.expectSame(as: try await test.store.read { try $0.headers(in: collection, limit: limit) })
    }
    try await stores[1].close()
    try test.expectSound()
  }
}
