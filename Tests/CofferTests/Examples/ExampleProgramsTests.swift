import Coffer
import CofferSQLite
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferStoreTestSupport

/// Programs that use only the public API, like an app's author who reads its documentation.
struct ExampleProgramsTests {
  private let place: Workplace
  private let options: OpenOptions

  init() throws {
    place = try Workplace()
    var options = OpenOptions.testing
    options.creation.isTest = true
    self.options = options
  }

  @Test func noteKeeperPreservesUserOrder() throws {
    typealias Note = NoteKeeper.Note
    let url = place.file("notes.coffer")
    let keeper = try NoteKeeper(at: url, key: .published("primary"), options: options)
    #expect(try keeper.page().isEmpty)
    let milk = try keeper.add(Note(title: "Milk", body: "and \"bread\"\nfrom the caf\u{E9}", tags: ["shop"]))
    let sail = try keeper.add(Note(title: "Sail", body: "at dawn"))
    let call = try keeper.add(Note(title: "Call Ada", body: ""))
    #expect(try keeper.page().map(\.id) == [call, sail, milk])
    try keeper.move(from: 2, to: 0)
    try keeper.change(sail) { $0.tags.insert("sea") }
    #expect(try keeper.page().map(\.title) == ["Milk", "Call Ada", "Sail"])
    #expect(try keeper.page(tag: "sea").map(\.value) == [Note(title: "Sail", body: "at dawn", tags: ["sea"])])
    #expect(try keeper.find("\"BREAD\"\nfrom the CAFE") == [milk])
    #expect(try keeper.find("title").isEmpty)
    let deleted = try keeper.delete(call)
    #expect(try keeper.page().map(\.id) == [milk, sail])
    try keeper.undo(deleted)
    #expect(try keeper.page().map(\.id) == [milk, call, sail])
    for number in 0..<40 { _ = try keeper.add(Note(title: "\(number)", body: "")) }
    let first = try keeper.page()
    let second = try keeper.page(after: first.last)
    #expect(first.map(\.title) == (20..<40).reversed().map(String.init))
    #expect(second.map(\.title) == (0..<20).reversed().map(String.init))
    try keeper.store.close()
    let again = try NoteKeeper(at: url, key: .published("primary"), options: options)
    #expect(try again.page(tag: "shop").map(\.title) == ["Milk"])
    #expect(try again.store.verify().isSound)
  }

  @Test func opensDataSetReadOnly() throws {
    let url = place.file("products.coffer")
    let made = try DocumentStore.create(
      at: url, keys: [.passphrase { Secret(typed: "a passphrase of an app") }, .published("primary")],
      creation: options.creation, options: options)
    typealias Product = DataSetReader.Product
    try made.write { tx in
      for (name, price) in [("Rope", 8.5), ("Sail", 120), ("Br\u{FB}l\u{E9}e torch", 9)] {
        try tx.insert(
          Product(name: name, price: price, note: nil), into: "deck", attributes: ["price": .number(price)])
      }
      try tx.insert(Document(title: "Read me", text: "plain text"), into: "about")
      try tx.reorder(["about", "deck"])
    }
    let pin = made.pin
    try made.close()
    let reader = try DataSetReader(at: url, passphrase: "a passphrase of an app", pin: pin, options: options)
    #expect(try reader.sections().map(\.name) == ["about", "deck"])
    #expect(try reader.products(in: "deck", upTo: 9).map(\.name) == ["Rope", "Br\u{FB}l\u{E9}e torch"])
    #expect(try reader.titles(in: "deck", dearestFirst: true) == ["Sail", "Br\u{FB}l\u{E9}e torch", "Rope"])
    #expect(try reader.find("brulee", in: "deck") == ["Br\u{FB}l\u{E9}e torch"])
    let offers = try reader.offers(since: Date(timeIntervalSince1970: 0))
    #expect(offers == [.init(title: "Rope", price: 8.5), .init(title: "Br\u{FB}l\u{E9}e torch", price: 9)])
    #expect(try reader.offers(since: Date(timeIntervalSinceNow: 86_400)).isEmpty)
    expect(.readOnly) { try reader.store.write { try $0.insert(Document(text: ""), into: "deck") } }
    expect(.pinMismatch) {
      _ = try DataSetReader(
        at: url, passphrase: "a passphrase of an app", pin: TestStore().store.pin, options: options)
    }
  }

  @Test func migratesDatabaseToModels() throws {
    let database = place.file("app.sqlite")
    try Database(database.path, mode: .create).execute(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, name TEXT, folder TEXT, isPinned BOOLEAN, made DATETIME, tag UUID,
        picture BLOB);
      INSERT INTO note VALUES(7,'Plans','work',1,'2026-11-21 14:35:00.000',x'E621E1F8C36C495A93FC0C247A3E6E5F',x'00FF'),
        (9,'Milk','home',0,'2026-11-22 08:00:00.000',x'E621E1F8C36C495A93FC0C247A3E6E5F',NULL);
      """)
    let store = try DocumentStore.create(
      at: place.file("app.coffer"), keys: [.published("primary")], creation: options.creation, options: options)
    #expect(try TableImport.run(database, into: store) == 2)
    try store.read { reader throws in
      #expect(try reader.collections().map(\.name) == ["work", "home"])
      let plans = try #require(try reader.values(TableImport.Note.self, in: "work").first)
      #expect(plans.id == 7)
      #expect(plans.name == "Plans" && plans.isPinned && plans.picture == Data([0, 255]))
      #expect(plans.made == Date(timeIntervalSince1970: 1_795_271_700))
      #expect(plans.header.created == Timestamp(plans.made))
      #expect(plans.header.title == "Plans")
      let milk = try reader.values(TableImport.Note.self, in: "home")
      #expect(milk.map(\.picture) == [nil] && milk.map(\.isPinned) == [false])
    }
    #expect(try store.verify().isSound)
    #expect(try Data(contentsOf: place.file("app.coffer")).range(of: Data("Plans".utf8)) == nil)
  }

  @Test func priceListFindsAndObservesPrices() async throws {
    let list = try PriceList(at: place.file("prices.coffer"), key: .published("primary"), options: options)
    let told = Mutex<[PriceList.Price]>([])
    let (steps, step) = AsyncStream<Void>.makeStream()
    var next = steps.makeAsyncIterator()
    try list.set(["0": .init(name: "rope", amount: 1)], from: "Hull")
    let following = Task {
      try await list.follow { prices in
        told.withLock { $0 += prices }
        step.yield()
      }
    }
    // Commits are reported only after the task starts to listen.
    var count = 0.0
    try await yieldUntil {
      count += 1
      try list.set(["0": .init(name: "rope", amount: count)], from: "Hull")
      return told.withLock { !$0.isEmpty }
    }
    try list.set(["a-1": .init(name: "anchor", amount: 80), "s-1": .init(name: "sail", amount: 300)], from: "Sund")
    #expect(try list.price(of: "a-1") == .init(name: "anchor", amount: 80))
    #expect(try list.price(of: "none") == nil)
    #expect(try list.raise("a-1", by: 2))
    #expect(try list.raise("none", by: 2) == false)
    #expect(try list.articles(from: "Sund").sorted() == ["a-1", "s-1"])
    #expect(try list.cheaper(than: 300).last.map { $0.name == "anchor" && $0.amount == 160 } == true)
    #expect(try list.store.verify().isSound)
    while !told.withLock({ $0.contains(.init(name: "anchor", amount: 160)) }) { _ = await next.next() }
    #expect(told.withLock { $0.contains(.init(name: "sail", amount: 300)) })
    try await list.store.close()
    try await following.value
  }
}
