import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Random histories of copies and their original, merged repeatedly and compared with a model without stamps.
struct MergeHistoryTests {
  /// A store and its model.
  private struct Side {
    let store: DocumentStore
    var model: MergeModel
    var ids: [Int: DocumentID] = [:]

    init(_ store: DocumentStore) throws {
      self.store = store
      model = try MergeModel(store)
      try readIDs()
    }

    private mutating func readIDs() throws {
      ids = [:]
      try store.read { reader in
        for collection in try reader.collections() {
          for header in try reader.headers(in: collection.handle) {
            if let n = MergeModel.number(header.attributes) { ids[n] = header.id }
          }
        }
      }
    }

    /// Updates the model's documents and order from the store after a merge or a commit.
    mutating func read(_ new: MergeModel? = nil) throws {
      var found = try new ?? MergeModel(store)
      if new == nil { (found.edited, found.placed) = (model.edited, model.placed) }
      model = found
      try readIDs()
    }

    /// Commits one to five transactions with one change each.
    mutating func commit(_ history: inout History) throws {
      for _ in 0...history.number(5) {
        var (side, future) = (self, history)
        try store.write { writer in try side.act(&future, &writer) }
        (self, history) = (side, future)
        try read()
      }
    }

    /// Commits many transactions to displace earlier transactions from the ring.
    func fillRing() throws {
      try store.write { writer in
        if try !writer.exists(DocumentCollection("noise")) {
          try writer.create(DocumentCollection("noise"), attributes: ["n": 0])
        }
      }
      for _ in 0..<70 {
        try store.write { writer in
          try writer.truncate(DocumentCollection("noise"))
          try writer.insert(Document(text: "noise"), into: DocumentCollection("noise"))
        }
      }
    }

    private mutating func act(_ history: inout History, _ writer: inout WriteTransaction) throws {
      let collections = model.names.keys.filter { $0 != 0 }.sorted()
      guard let c = history.pick(collections) else {
        history.next += 1
        let number = Double(history.next)
        try writer.create(DocumentCollection("c\(history.next)"), attributes: ["n": .number(number)])
        return
      }
      let collection = DocumentCollection(model.names[c]!)
      let order = model.order[c]!
      let n = history.pick(order)
      func place(_ history: inout History) -> Placement {
        guard let other = history.pick(order.filter { $0 != n }) else { return .bottom }
        return [.top, .bottom, .before(ids[other]!), .after(ids[other]!)][history.number(4)]
      }
      let key = DocumentKey("k\(history.number(12))")
      let isFree = try writer.id(forKey: key, in: collection) == nil
      history.next += 1
      let new = history.next
      switch history.number(32) {
      case 0...6:
        var document = Document(text: "text \(new)", key: isFree && history.number(2) == 0 ? key : nil)
        document.attributes = ["n": .number(Double(new))]
        if let n, history.number(3) == 0 { document.parent = ids[n] }
        ids[new] = try writer.insert(document, into: collection, at: place(&history))
        model.edited.insert(new)
        model.placed.insert(new)
      case 7...11:
        guard let n else { return }
        try writer.update(ids[n]!) { $0.text = "text \(new)" }
        model.edited.insert(n)
      case 12...15:
        guard let n, isFree else { return }
        // Swap the keys of two documents, or give one document another key.
        let old = model.documents[n]!.key
        guard old != key.text else { return }
        if let other = history.pick(order.filter { $0 != n && model.documents[$0]!.key != nil }), let old {
          let others = DocumentKey(model.documents[other]!.key!)
          try writer.setKey(of: ids[n]!, to: nil)
          try writer.setKey(of: ids[other]!, to: DocumentKey(old))
          try writer.setKey(of: ids[n]!, to: others)
          model.edited.insert(other)
        } else {
          try writer.setKey(of: ids[n]!, to: key)
        }
        model.edited.insert(n)
      case 16...20:
        guard let n, order.count > 1 else { return }
        let before = try writer.header(of: ids[n]!).position
        try writer.move(ids[n]!, to: place(&history))
        if try writer.header(of: ids[n]!).position != before { model.placed.insert(n) }
      case 21...24:
        guard let n else { return }
        let parent = history.number(3) == 0 ? nil : history.pick(order.filter { $0 != n })
        guard parent != model.documents[n]!.parent else { return }
        let id = ids[n]!
        let other = parent.map { ids[$0]! }
        let below = try writer.descendants(of: id).map(\.id)
        guard try writer.header(of: id).parent != other, other.map({ !below.contains($0) }) ?? true else { return }
        try writer.setParent(of: id, to: other)
        model.placed.insert(n)
      case 25...27:
        guard let n else { return }
        try writer.delete(ids[n]!)
      case 28:
        guard let n, let other = history.pick(collections.filter { $0 != c }),
          try writer.children(of: ids[n]!).isEmpty
        else { return }
        let target = DocumentCollection(model.names[other]!)
        if let key = model.documents[n]!.key, try writer.id(forKey: DocumentKey(key), in: target) != nil { return }
        try writer.move(ids[n]!, into: target)
        model.placed.insert(n)
      case 29:
        let name = "c\(history.number(6))"
        if try !writer.exists(DocumentCollection(name)) { try writer.rename(collection, to: name) }
      case 30:
        let name = "c\(history.number(6))"
        if try collections.count < 4 && !writer.exists(DocumentCollection(name)) {
          try writer.create(DocumentCollection(name), attributes: ["n": .number(Double(new))])
        }
      default:
        if history.number(4) == 0 { try writer.drop(collection) }
      }
    }
  }

  private struct History {
    var random: Pseudorandom
    var next = 0

    mutating func number(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    mutating func pick<T>(_ values: [T]) -> T? { values.isEmpty ? nil : values[number(values.count)] }
  }

  private static func fork(_ original: DocumentStore, _ place: Workplace, _ name: String) throws -> DocumentStore {
    try DocumentStore.openEditableCopy(
      of: URL(filePath: original.engine.path), at: place.file(name), key: .published("primary"), options: .testing)
  }

  private static func original(_ test: TestStore, _ history: inout History) throws -> Side {
    try test.store.write { writer in
      for c in 1...2 {
        let collection = DocumentCollection("c\(c)")
        try writer.create(collection, attributes: ["n": .number(Double(100 + c))])
        for _ in 0..<6 {
          history.next += 1
          var document = Document(text: "text \(history.next)")
          document.attributes = ["n": .number(Double(1000 + history.next))]
          try writer.insert(document, into: collection)
        }
      }
      history.next += 2000
    }
    return try Side(test.store)
  }

  /// Returns a quarter of the seeds.
  private static func seeds(_ part: Int) -> [UInt64] { HistorySeeds.first(60).filter { $0 % 4 == UInt64(part) } }

  @Test(.slow, arguments: 0..<4) func copyFollowsOriginal(_ part: Int) throws {
    for seed in Self.seeds(part) { try followOriginal(seed) }
  }

  private func followOriginal(_ seed: UInt64) throws {
    var history = History(random: Pseudorandom(seed: seed))
    let test = try TestStore()
    var theirs = try Self.original(test, &history)
    var mine = try Side(try Self.fork(test.store, test.place, "copy.coffer"))
    var (known, knownCollections) = (Set(theirs.model.documents.keys), Set(theirs.model.names.keys))
    for round in 0..<4 {
      for _ in 0..<history.number(4) { try mine.commit(&history) }
      for _ in 0..<history.number(4) { try theirs.commit(&history) }
      if history.number(3) == 0 { try theirs.fillRing() }
      try theirs.read()
      let before = try mine.store.everything()
      let theirsWin = history.number(2) == 0
      func makeJudge(_ theirsWin: Bool) -> MergeJudge {
        MergeJudge(mine.model, theirs.model, known: known, knownCollections: knownCollections, theirsWin: theirsWin)
      }
      var judge = makeJudge(false)
      let first = try mine.store.merge(theirs.store)
      #expect(first.isMerged || !first.conflicts.isEmpty, "seed \(seed), round \(round)")
      #expect(judge.conflicts.isEmpty || !first.isMerged, "seed \(seed), round \(round): \(judge.conflicts)")
      if !first.isMerged {
        #expect(try mine.store.everything() == before, "seed \(seed), round \(round)")
        var dry = MergeOptions()
        dry.isDryRun = true
        #expect(try !mine.store.merge(theirs.store, policy: .theirs, options: dry).isMerged)
        #expect(try mine.store.everything() == before, "seed \(seed), round \(round)")
        #expect(try mine.store.merge(theirs.store, policy: theirsWin ? .theirs : .mine).isMerged)
        judge = makeJudge(theirsWin)
      }
      let result = try MergeModel(mine.store)
      let faults = judge.faults(of: result)
      #expect(faults.isEmpty, "seed \(seed), round \(round)")
      guard faults.isEmpty else { return }
      try mine.read(judge.met(result))
      let again = try mine.store.merge(theirs.store)
      #expect(again.isMerged && again.entries.isEmpty, "seed \(seed), round \(round)")
      (theirs.model.edited, theirs.model.placed) = ([], [])
      (known, knownCollections) = (Set(theirs.model.documents.keys), Set(theirs.model.names.keys))
      #expect(try mine.store.verify().isSound, "seed \(seed), round \(round)")
    }
    try mine.store.close()
  }

  // MARK: Copies of one original

  /// Merging A into B and B into A gives equal results under opposite policies, except for IDs and the order in a gap.
  @Test(.slow, arguments: 0..<4) func mergesSiblingsInBothDirections(_ part: Int) throws {
    for seed in Self.seeds(part) { try mergeSiblings(seed) }
  }

  private func mergeSiblings(_ seed: UInt64) throws {
    var history = History(random: Pseudorandom(seed: seed))
    let test = try TestStore()
    var original = try Self.original(test, &history)
    var one = try Side(try Self.fork(test.store, test.place, "one.coffer"))
    let isLater = history.number(2) == 0
    if isLater { try original.commit(&history) }
    var other = try Side(try Self.fork(test.store, test.place, "other.coffer"))
    for _ in 0..<history.number(4) { try one.commit(&history) }
    for _ in 0..<history.number(4) { try other.commit(&history) }
    func copies(_ name: String) throws -> DocumentStore {
      let url = test.place.file("\(name)-again.coffer")
      try? FileManager.default.removeItem(at: url)
      try DocumentStore.backup(at: test.place.file("\(name).coffer"), to: url)
      return try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    }
    let theirsWin = history.number(2) == 0
    let first = try copies("one")
    var isMerged = try first.merge(other.store).isMerged
    let judge: MergeJudge? =
      isLater
      ? nil
      : MergeJudge(
        one.model, other.model, known: Set(original.model.documents.keys),
        knownCollections: Set(original.model.names.keys), theirsWin: !isMerged && theirsWin)
    if let judge { #expect(judge.conflicts.isEmpty || !isMerged, "seed \(seed): \(judge.conflicts)") }
    let hasConflicts = !isMerged
    if hasConflicts { isMerged = try first.merge(other.store, policy: theirsWin ? .theirs : .mine).isMerged }
    #expect(isMerged, "seed \(seed)")
    let result = try MergeModel(first)
    if let judge {
      let faults = judge.faults(of: result)
      #expect(faults.isEmpty, "seed \(seed)")
    }
    #expect(try first.merge(other.store, policy: theirsWin ? .theirs : .mine).isMerged, "seed \(seed)")
    #expect(try MergeModel(first).documents == result.documents, "seed \(seed): merged again")
    let second = try copies("other")
    #expect(try second.merge(one.store, policy: theirsWin ? .mine : .theirs).isMerged, "seed \(seed)")
    let reverse = try MergeModel(second)
    let differing = result.documents.filter { reverse.documents[$0.key] != $0.value }.keys
    #expect(
      differing.isEmpty && reverse.documents.count == result.documents.count,
      "seed \(seed): \(differing.map { judge?.history($0, result) ?? "document \($0)" })")
    for (c, order) in result.order {
      #expect(Set(order) == Set(reverse.order[c] ?? []), "seed \(seed), collection \(c)")
      if hasConflicts { #expect(order == reverse.order[c], "seed \(seed), collection \(c)") }
    }
    #expect(try first.verify().isSound && second.verify().isSound, "seed \(seed)")
    for store in [first, second, one.store, other.store] { try store.close() }
  }

  /// The merge order of three copies with different changes affects only the order in a gap.
  @Test(.slow, arguments: 0..<4) func mergesThreeCopiesInAnyOrder(_ part: Int) throws {
    for seed in Self.seeds(part).prefix(200) { try mergeThree(seed) }
  }

  private func mergeThree(_ seed: UInt64) throws {
    var history = History(random: Pseudorandom(seed: seed))
    let test = try TestStore()
    let original = try Self.original(test, &history)
    var results: [MergeModel] = []
    let names = ["a", "b", "c"]
    for (number, name) in names.enumerated() {
      let store = try Self.fork(test.store, test.place, "\(name).coffer")
      try change(store, original, number, &history)
      try store.close()
    }
    func copy(_ name: String, of source: String) throws -> DocumentStore {
      let url = test.place.file("\(name).coffer")
      try? FileManager.default.removeItem(at: url)
      try DocumentStore.backup(at: test.place.file("\(source).coffer"), to: url)
      return try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    }
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
      let store = try copy("result", of: names[order[0]])
      for other in order.dropFirst() {
        let other = try copy("other", of: names[other])
        let report = try store.merge(other)
        #expect(report.isMerged, "seed \(seed): \(report.conflicts)")
        try other.close()
      }
      results.append(try MergeModel(store))
      #expect(try store.verify().isSound)
      try store.close()
    }
    // Merge the first copy with a copy that already contains the third.
    let (one, two) = (try copy("one", of: "a"), try copy("two", of: "b"))
    let three = try copy("three", of: "c")
    #expect(try two.merge(three).isMerged)
    #expect(try one.merge(two).isMerged, "seed \(seed)")
    results.append(try MergeModel(one))
    for result in results.dropFirst() {
      #expect(result.documents == results[0].documents, "seed \(seed)")
      for (c, order) in results[0].order { #expect(Set(order) == Set(result.order[c] ?? []), "seed \(seed)") }
    }
    for store in [one, two, three] { try store.close() }
  }

  /// Changes every third document, starting at the given number, and adds others.
  private func change(_ store: DocumentStore, _ original: Side, _ number: Int, _ history: inout History) throws {
    var future = history
    try store.write { writer in
      for (n, id) in original.ids.sorted(by: { $0.key < $1.key }) where n % 3 == number {
        let collection = DocumentCollection(original.model.names[original.model.documents[n]!.collection]!)
        let places: [Placement] = [.top, .bottom]
        switch future.number(5) {
        case 0: try writer.update(id) { $0.text = "changed by \(number)" }
        case 1: try writer.move(id, to: places[future.number(2)])
        case 2: try writer.delete(id)
        case 3:
          future.next += 1
          var document = Document(text: "new \(future.next)", key: DocumentKey("key \(future.next)"))
          document.attributes = ["n": .number(Double(future.next))]
          try writer.insert(document, into: collection, at: places[future.number(2)])
        default: break
        }
      }
    }
    history = future
  }
}
