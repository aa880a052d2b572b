import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Random histories by two open stores, with merges of an edited copy. Applying the differences like a table view must
/// produce what a read returns.
struct ObservedHistoryTests {
  /// A value that a filtered list shows while it's open.
  private struct Item: Codable, Sendable, Equatable {
    var name: String
    var isOpen: Bool
  }

  private static let notes = DocumentCollection("notes")
  private static let others = DocumentCollection("others")

  private struct History {
    var random: Pseudorandom
    /// The current name of the observed collection.
    var name = "notes"
    /// Whether the observers have seen the collection, so they follow it when it's renamed.
    var isSeen = false
    var count = 0

    mutating func number(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    private mutating func item() -> Item { Item(name: "ß\(count)", isOpen: number(3) > 0) }

    /// Commits one to four random changes in a transaction.
    ///
    /// - Parameter changesCollections: Whether collections may be renamed and dropped.
    mutating func commit(_ store: DocumentStore, changesCollections: Bool = true) throws {
      var copy = self
      try store.write { writer in
        for _ in 0...copy.number(4) { try copy.act(&writer, changesCollections) }
      }
      self = copy
    }

    private mutating func act(_ writer: inout WriteTransaction, _ changesCollections: Bool) throws {
      let collection = DocumentCollection(name)
      let headers = try writer.headers(in: collection)
      let ids = headers.map(\.id)
      func pick(_ history: inout History) -> DocumentID? { ids.isEmpty ? nil : ids[history.number(ids.count)] }
      count += 1
      switch number(changesCollections ? 26 : 22) {
      case 0...3:
        let places: [Placement] = [.top, .bottom] + (pick(&self).map { [.before($0), .after($0)] } ?? [])
        try writer.insert(item(), into: collection, at: places[number(places.count)])
      case 4: try writer.insert(Document(title: "\(count)", text: "no value"), into: collection, at: .top)
      case 5: try writer.insert(contentsOf: (0..<number(30)).map { Document(text: "\($0)") }, into: collection)
      case 6, 7: if let id = pick(&self) { try writer.delete(id) }
      case 8...11:
        guard let id = pick(&self), let other = pick(&self) else { return }
        let places: [Placement] = [.top, .bottom, .before(other), .after(other)]
        try writer.move(id, to: places[number(4)])
      case 12...14:
        guard let header = headers.randomElement(using: &random) else { return }
        // A change can add a value to the filtered list, or remove it.
        let item = item()
        if header.isJSON {
          try writer.update(header.id, as: Item.self) { $0 = item }
        } else {
          try writer.update(header.id) { $0.title = item.name }
        }
      case 15:
        // Inserts documents at one position, so positions there get longer.
        guard let id = pick(&self) else { return }
        for _ in 0..<40 { try writer.insert(item(), into: collection, at: .after(id)) }
      case 16: if let id = pick(&self) { try writer.move(id, into: ObservedHistoryTests.others) }
      case 17:
        if let header = try writer.headers(in: ObservedHistoryTests.others, limit: 1).first {
          try writer.move(header.id, into: collection, at: .top)
        }
      case 18: try writer.sort(collection, by: number(2) == 0 ? .title : .id, descending: number(2) == 0)
      case 19:
        for id in ids.shuffled(using: &random).prefix(ids.count / 2) { try writer.delete(id) }
      case 20:
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
      case 21:
        if number(2) == 0 {
          try writer.insert(Item(name: "elsewhere", isOpen: true), into: ObservedHistoryTests.others)
        } else if let id = pick(&self) {
          let attachments = try writer.attachments(of: id)
          for attachment in attachments { try writer.detach(attachment.id) }
          if attachments.isEmpty { try writer.attach(.bytes([1, 2, 3]), to: id, name: "file") }
        }
      case 22: if number(3) == 0 { try writer.truncate(collection, restartingIDs: number(2) == 0) }
      case 23, 24:
        guard number(3) == 0, isSeen, try writer.exists(collection) else { return }
        let new = name == "notes" ? "renamed" : "notes"
        if try !writer.exists(DocumentCollection(new)) {
          try writer.rename(collection, to: new)
          name = new
        }
      default:
        guard number(4) == 0, try writer.exists(collection) else { return }
        try writer.drop(collection)
        (name, isSeen) = ("notes", false)
      }
    }

    /// Merges a copy that was edited while the store was edited.
    mutating func merge(into store: DocumentStore, _ test: TestStore) throws {
      let url = test.place.file("copy\(count).coffer")
      _ = try store.makeEditableCopy(at: url, keys: [.published("primary")])
      let copy = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
      for _ in 0..<3 { try commit(copy, changesCollections: false) }
      for _ in 0..<2 { try commit(store, changesCollections: false) }
      _ = try store.merge(copy, policy: .both)
      try copy.close()
    }
  }

  private typealias Rows = [StoredValue<Item>]

  /// Three observations of a collection, and what they have told.
  private struct Observers {
    private var headers: StoreObservation<ListChange<DocumentHeader>>.AsyncIterator
    private var values: StoreObservation<ListChange<StoredValue<Item>>>.AsyncIterator
    private var reads: StoreObservation<ListChange<StoredValue<Item>>>.AsyncIterator
    private var listModel = ListModel<DocumentHeader>()
    private var valueModel = ListModel<StoredValue<Item>>()
    private var readModel = ListModel<StoredValue<Item>>()

    init(_ store: DocumentStore, _ limit: Int) {
      headers = store.observe(ObservedHistoryTests.notes, first: limit).makeAsyncIterator()
      values = store.observe(
        Item.self, in: ObservedHistoryTests.notes, first: limit, skippingOthers: true, where: \.isOpen
      ).makeAsyncIterator()
      reads = store.observe { try Observers.openItems(&$0, "notes", .max) + Observers.openItems(&$0, "renamed", .max) }
        .differences().makeAsyncIterator()
    }

    static func openItems(_ scope: inout ReadTransaction, _ name: String, _ limit: Int) throws -> Rows {
      try scope.values(Item.self, in: DocumentCollection(name), limit: limit, skippingOthers: true, where: \.isOpen)
    }

    /// Takes differences up to a generation that changed all of them.
    mutating func follow(to generation: UInt64) async throws {
      while true {
        let change = try #require(try await headers.next())
        try listModel.take(change)
        if change.generation == generation { break }
      }
      while true {
        let change = try #require(try await values.next())
        try valueModel.take(change)
        if change.generation == generation { break }
      }
      while true {
        let change = try #require(try await reads.next())
        try readModel.take(change)
        if change.generation == generation { break }
      }
    }

    func expectSame(as store: DocumentStore, _ name: String, _ limit: Int) throws {
      try store.read { scope in
        listModel.expectSame(as: try scope.headers(in: DocumentCollection(name), limit: limit))
        valueModel.expectSame(as: try Observers.openItems(&scope, name, limit))
        readModel.expectSame(
          as: try Observers.openItems(&scope, "notes", .max) + Observers.openItems(&scope, "renamed", .max))
      }
    }
  }

  @Test(.slow, arguments: [Int.max, 1, 7, 60], 0..<4)
  func differencesReproduceReads(_ limit: Int, _ seed: Int) async throws {
    let test = try TestStore { $0.journal = seed % 2 == 0 ? .rollback : .writeAheadLog }
    let stores = [test.store, try test.reopened()]
    try await test.store.write { try $0.insert(Document(text: ""), into: Self.others) }
    var history = History(random: Pseudorandom(seed: UInt64(seed)))
    var observers = Observers(test.store, limit)
    for round in 0..<40 {
      for _ in 0..<(1 + history.number(4)) { try history.commit(stores[history.number(2)]) }
      if history.number(12) == 0 { try history.merge(into: test.store, test) }
      // A slow task receives the differences of several rounds at once.
      guard history.number(3) > 0 else { continue }
      let collection = DocumentCollection(history.name)
      // Make a change at the top, because it's visible at any limit and reported immediately.
      try await test.store.write { writer in
        if let first = try writer.headers(in: collection, limit: 1).first, first.isJSON {
          try writer.update(first.id, as: Item.self) { $0 = Item(name: "round \(round)", isOpen: true) }
        } else {
          try writer.insert(Item(name: "round \(round)", isOpen: true), into: collection, at: .top)
        }
      }
      try await observers.follow(to: try await test.store.read { $0.generation })
      try observers.expectSame(as: test.store, history.name, limit)
      history.isSeen = true
    }
    try await stores[1].close()
    try test.expectSound()
  }
}
