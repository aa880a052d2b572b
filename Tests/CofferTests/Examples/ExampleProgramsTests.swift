import Coffer
import Foundation
import Synchronization
import Testing

/// Programs as an app's author writes them from the documentation comments alone: the public face, no more.
struct ExampleProgramsTests {
  private let place: Workplace
  private let options: OpenOptions

  init() throws {
    place = try Workplace()
    var options = OpenOptions.testing
    options.creation.isTest = true
    self.options = options
  }

  @Test func noteKeeperKeepsNotesInTheUsersOrder() throws {
    let url = place.file("notes.coffer")
    let keeper = try NoteKeeper(at: url, key: .published("primary"), options: options)
    #expect(try keeper.page(0).isEmpty)
    let ids = try ["Milk\nand bread", "Sail at dawn", "Call Ada"].map { try keeper.add($0) }
    #expect(try keeper.add("") == nil)
    #expect(try keeper.page(0).map(\.title) == ["Call Ada", "Sail at dawn", "Milk"])
    try keeper.move(from: 2, to: 0)
    try keeper.save("Butter\nand bread", as: #require(ids[0]))
    #expect(try keeper.page(0, of: 2).map(\.title) == ["Butter", "Call Ada"])
    #expect(try keeper.page(1, of: 2).map(\.title) == ["Sail at dawn"])
    #expect(try keeper.find("BREAD") == [ids[0]])
    try keeper.store.close()
    let again = try NoteKeeper(at: url, key: .published("primary"), options: options)
    #expect(try again.text(of: #require(ids[0])) == "Butter\nand bread")
    #expect(try again.store.verify().isSound)
  }

  @Test func priceListFindsCountsAndTellsPrices() async throws {
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
    // Until it listens, commits are not told.
    var count = 0.0
    while told.withLock({ $0.isEmpty }) {
      count += 1
      try list.set(["0": .init(name: "rope", amount: count)], from: "Hull")
      await Task.yield()
    }
    try list.set(["a-1": .init(name: "anchor", amount: 80), "s-1": .init(name: "sail", amount: 300)], from: "Sund")
    #expect(try list.price(of: "a-1") == .init(name: "anchor", amount: 80))
    #expect(try list.price(of: "none") == nil)
    #expect(try list.raise("a-1", by: 2))
    #expect(try list.raise("none", by: 2) == false)
    #expect(try list.articles(from: "Sund").sorted() == ["a-1", "s-1"])
    #expect(try list.cheaper(than: 300).last.map { $0.name == "anchor" && $0.amount == 160 } == true)
    #expect(try await list.store.verify().isSound)
    while !told.withLock({ $0.contains(.init(name: "anchor", amount: 160)) }) { _ = await next.next() }
    #expect(told.withLock { $0.contains(.init(name: "sail", amount: 300)) })
    try await list.store.close()
    try await following.value
  }
}
