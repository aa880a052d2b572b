import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferMergeModel
@testable import CofferStoreTestSupport

/// Random histories of several copies, in which each merge is compared with the executable model.
struct MergeHistoryTests {
  // In these two histories, a text comes back from a deletion, in the second one beside a title in conflict.
  @Test(arguments: HistorySeeds.first(3) + [333, 5036]) func mergesAsModel(_ seed: UInt64) throws {
    try History(seed, copies: 3).run(steps: 60)
  }

  // Texts that are lost, deleted and restored again and again meet each other in every combination.
  @Test(arguments: HistorySeeds.first(3)) func mergesLostAndDeletedTextsAsModel(_ seed: UInt64) throws {
    try History(seed + 20_000, copies: 3, .oneDocument).run(steps: 60)
  }

  // Attachments are added, renamed, removed, deleted with their documents, and come back from other copies.
  @Test(arguments: HistorySeeds.first(3)) func mergesAttachmentsAsModel(_ seed: UInt64) throws {
    try History(seed + 40_000, copies: 3, .attachments).run(steps: 60)
  }

  // Parents form cycles, which further moves and deletions dissolve.
  @Test(arguments: HistorySeeds.first(3)) func mergesFamiliesAsModel(_ seed: UInt64) throws {
    try History(seed + 60_000, copies: 3, .families).run(steps: 80)
  }

  // In history 25, a text of the document at which a cycle is cut is lost.
  @Test(.slow, arguments: HistorySeeds.first(5) + [25]) func mergesLongHistoriesOfFamiliesAsModel(_ seed: UInt64) throws
  {
    try History(seed + 70_000, copies: 4, .families).run(steps: 250)
  }

  @Test(.slow, arguments: HistorySeeds.first(2)) func mergesLongHistoriesOfAttachmentsAsModel(_ seed: UInt64) throws {
    try History(seed + 50_000, copies: 4, .attachments).run(steps: 150)
  }

  // In history 29, a lost text comes back in two stores.
  @Test(.slow, arguments: HistorySeeds.first(5) + [29]) func mergesLongHistoriesAsModel(_ seed: UInt64) throws {
    try History(seed + 1000, copies: 4).run(steps: 250)
  }
}

/// A store, copies of it, and changes and merges in random order.
private final class History {
  private static let names = ["notes", "plans", "ideas"]
  private let seed: UInt64
  private let edits: Edits
  private var random: Pseudorandom
  private let test: TestStore
  private var stores: [DocumentStore]
  private var texts = 0

  /// What a history changes.
  enum Edits {
    /// Every part of documents and collections.
    case all
    /// The existence, the text and an attribute of few documents, and of the documents that lost texts become.
    case oneDocument
    /// The attachments of few documents, and as much of everything else.
    case attachments
    /// The parents and places of few documents, which stay in their collections.
    case families
  }

  init(_ seed: UInt64, copies: Int, _ edits: Edits = .all) throws {
    self.seed = seed
    self.edits = edits
    random = Pseudorandom(seed: seed)
    test = try TestStore()
    stores = [test.store]
    for _ in 0..<(edits == .oneDocument ? 1 : 5) { try change(test.store) }
    for number in 1..<copies {
      let source = test.place.file(number == 1 ? "test.coffer" : "copy1.coffer")
      stores.append(
        try DocumentStore.openEditableCopy(
          of: source, at: test.place.file("copy\(number).coffer"), key: .published("primary"), options: .testing))
    }
  }

  func run(steps: Int) throws {
    for step in 0..<steps {
      if random.number(below: 3) > (edits == .oneDocument ? 1 : 0) {
        let store = stores[random.number(below: stores.count)]
        try change(store)
        if edits == .families {
          try expectReading(of: store, try ModelOfStore.read(store), "seed \(seed), step \(step)")
        }
      } else {
        let mine = random.number(below: stores.count)
        let theirs = (mine + 1 + random.number(below: stores.count - 1)) % stores.count
        try merge(mine, theirs, [.fail, .mine, .theirs, .both, .both][random.number(below: 5)], step)
      }
    }
    try converge()
    for store in stores { #expect(try store.verify().isSound, "seed \(seed)") }
  }

  // MARK: Merges

  private func merge(_ mine: Int, _ theirs: Int, _ policy: CofferMergeModel.MergePolicy, _ step: Int) throws {
    var model = try ModelOfStore.read(stores[mine])
    let other = try ModelOfStore.read(stores[theirs])
    let before = Set(model.documents.keys)
    let report = try model.apply(other.changes(since: model.vector), policy: policy)
    for change in report.changes where change.kind == .copied && !before.contains(change.record) {
      let title = model.documents[change.record]?[.title].string ?? ""
      model.documents[change.record]?.parts[.title]?.value = .string(title + " (other version)")
    }
    let policies: [CofferMergeModel.MergePolicy: Coffer.MergePolicy] = [
      .fail: .fail, .mine: .mine, .theirs: .theirs, .both: .both,
    ]
    let done = try stores[mine].merge(stores[theirs], policy: policies[policy]!)
    let result = try ModelOfStore.read(stores[mine])
    let place = "seed \(seed), step \(step), \(policy)"
    #expect(done.conflicts.isEmpty == report.conflicts.isEmpty, "\(place): \(report.conflicts) \(done.conflicts)")
    for id in Set(result.collections.keys).union(model.collections.keys) {
      let isEqual = result.collections[id] == model.collections[id]
      try #require(isEqual, "\(place): collection \(id): \(difference(result.collections[id], model.collections[id]))")
    }
    for id in Set(result.documents.keys).union(model.documents.keys) {
      let isEqual = result.documents[id] == model.documents[id]
      try #require(isEqual, "\(place): document \(id): \(difference(result.documents[id], model.documents[id]))")
    }
    try #require(result.gone == model.gone, "\(place)")
    try expectReading(of: stores[mine], result, place)
  }

  /// Compares the names, the holders of keys and, within families, the parents that a store reads with those of the
  /// model.
  private func expectReading(of store: DocumentStore, _ model: ModelStore, _ place: String) throws {
    let names = Set(model.names.values)
    try store.read { reader in
      let collections = try reader.collections()
      #expect(Set(collections.map(\.name)) == names, "\(place)")
      for collection in collections {
        for header in try reader.headers(in: collection.handle) where header.key != nil {
          #expect(try reader.id(forKey: header.key!, in: collection.handle) == header.id, "\(place)")
        }
      }
    }
    #expect(try ModelOfStore.holdersOfKeys(store) == Set(model.keys.values), "\(place)")
    // A parent that a store moves to another collection and back finds its children again in the other copies only.
    guard edits == .families else { return }
    let parents = try ModelOfStore.parents(store)
    let others = Set(parents.keys).union(model.parents.keys).filter { parents[$0] != model.parents[$0] }
    let found = others.map { "\($0): \(parents[$0] as Any), not \(model.parents[$0] as Any)" }
    try #require(found.isEmpty, "\(place): \(found.joined(separator: "; "))")
  }

  /// Merges until all copies have everything, and requires them to be equal, also in their orders.
  private func converge() throws {
    // Each copy merges with one other a round; four copies take up to five.
    for round in 0..<6 {
      for index in stores.indices {
        try merge(index, (index + 1 + round % (stores.count - 1)) % stores.count, .both, 1000 + round)
      }
    }
    let models = try stores.map { try ModelOfStore.read($0) }
    let orders = try stores.map { try order($0) }
    for (model, order) in zip(models, orders).dropFirst() {
      #expect(model.documents == models[0].documents && model.collections == models[0].collections, "seed \(seed)")
      #expect(order == orders[0], "seed \(seed)")
    }
  }

  /// The texts and dates of each collection in their order.
  private func order(_ store: DocumentStore) throws -> [String: [String]] {
    try store.read { reader in
      var order: [String: [String]] = [:]
      for collection in try reader.collections() {
        var texts: [String] = []
        try reader.forEach(in: collection.handle) { document in
          let header = document.header
          texts.append("\(document.text) \(header.created) \(header.modified)")
        }
        order[collection.name] = texts
      }
      return order
    }
  }

  /// Describes how two states of a record differ.
  private func difference(_ one: ModelRecord?, _ other: ModelRecord?) -> String {
    guard let one, let other else { return one == nil ? "it is missing" : "it is there" }
    var words: [String] = []
    for name in Set(one.parts.keys).union(other.parts.keys) where one.parts[name] != other.parts[name] {
      func word(_ part: Part?) -> String {
        part.map { "\($0.value) \($0.dot.counter)@\($0.dot.replica.rawValue >> 48)" } ?? "none"
      }
      words.append("\(name): \(word(one.parts[name])), not \(word(other.parts[name]))")
    }
    if one.stamp != other.stamp {
      words.append(
        "stamp \(one.stamp.counter)@\(one.stamp.replica.rawValue >> 48), not \(other.stamp.counter)@\(other.stamp.replica.rawValue >> 48)"
      )
    }
    for id in Set(one.attachments.keys).union(other.attachments.keys) where one.attachments[id] != other.attachments[id]
    {
      words.append("attachment \(id): \(one.attachments[id] as Any), not \(other.attachments[id] as Any)")
    }
    if one.kept != other.kept { words.append("kept \(one.kept.counter), not \(other.kept.counter)") }
    return words.joined(separator: "; ")
  }

  // MARK: Changes

  private func change(_ store: DocumentStore) throws {
    do {
      try store.write { writer in try change(in: writer) }
    } catch let error as StoreError {
      // An edit that the store refuses.
      guard [.duplicateKey, .invalidArgument, .alreadyExists, .noSuchCollection].contains(error.code) else {
        throw error
      }
    }
  }

  private func change(in writer: borrowing WriteTransaction) throws {
    let collections = try writer.collections()
    var ids: [DocumentID] = []
    for collection in collections { ids += try writer.headers(in: collection.handle).map(\.id) }
    let id = ids.isEmpty ? nil : ids[random.number(below: ids.count)]
    if edits == .oneDocument { return try changeTextOrExistence(of: id, writer) }
    if edits == .attachments, let id, random.number(below: 2) == 0 { return try changeAttachments(of: id, writer) }
    if edits == .families, ids.count > 3, random.number(below: 8) > 0 {
      return try changeFamily(of: ids[random.number(below: ids.count)], among: ids, writer)
    }
    let collection =
      collections.isEmpty || random.number(below: 6) == 0
      ? DocumentCollection(Self.names[random.number(below: 3)])
      : collections[random.number(below: collections.count)].handle
    let placements: [Placement] = [.top, .bottom] + (id.map { [.after($0), .before($0)] } ?? [])
    texts += 1
    let text = "text \(texts)"
    // A value, and the attribute with its schema version, change together or alone.
    let value: String? = random.number(below: 3) == 0 ? "{\"n\":\(texts)}" : nil
    let schema: AttributeValue? = random.number(below: 3) == 0 ? nil : .number(Double(texts))
    guard let id, random.number(below: 4) > 0 else {
      var document = Document(title: "title \(texts)", text: text)
      if random.number(below: 2) == 0 { document.key = DocumentKey("k\(random.number(below: 4))") }
      document.attributes = ["a": .string("\(random.number(below: 3))"), "b": .string("1")]
      if random.number(below: 3) == 0, let parent = id, try writer.collection(of: parent) == collection {
        document.parent = parent
      }
      try writer.insert(document, into: collection, at: [.top, .bottom][random.number(below: 2)])
      return
    }
    switch random.number(below: 12) {
    case 0, 1:
      try update(id, writer) {
        ($0.text, $0.isJSON) = (value ?? text, value != nil)
        if value != nil { $0.attributes["schema"] = schema }
      }
    case 2:
      let title = random.number(below: 4) == 0 ? nil : text
      try update(id, writer) { $0.title = title }
    case 3:
      try writer.setKey(of: id, to: random.number(below: 3) == 0 ? nil : DocumentKey("k\(random.number(below: 4))"))
    case 4:
      let name = ["a", "b", "c", "schema"][random.number(below: 4)]
      let value: AttributeValue? = random.number(below: 3) == 0 ? nil : .string("\(texts)")
      try update(id, writer) { $0.attributes[name] = value }
    case 5, 6: try writer.move(id, to: placements[random.number(below: placements.count)])
    case 7 where edits != .families: try writer.move(id, into: collection)
    case 8: try writer.setParent(of: id, to: random.number(below: 3) == 0 ? nil : ids[random.number(below: ids.count)])
    case 9: try writer.delete(id)
    case 10:
      switch random.number(below: 4) {
      case 0: try writer.drop(collection)
      case 1: try writer.rename(collection, to: Self.names[random.number(below: 3)] + "!")
      case 2: try writer.update(collection, foldsKeys: random.number(below: 2) == 0)
      default: try writer.create(DocumentCollection(Self.names[random.number(below: 3)]))
      }
    default:
      let deleted = try writer.deleteUndoably([id])
      if random.number(below: 2) == 0 { try writer.restore(deleted) }
    }
  }
}

extension History {
  private func changeFamily(of id: DocumentID, among ids: [DocumentID], _ writer: borrowing WriteTransaction) throws {
    let other = ids[random.number(below: ids.count)]
    switch random.number(below: 10) {
    case 0...5: try writer.setParent(of: id, to: other)
    case 6: try writer.move(id, to: .after(other))
    case 7: try writer.setParent(of: id, to: nil)
    case 8 where ids.count > 5: try writer.delete(id)
    default:
      let deleted = try writer.deleteUndoably([id])
      try writer.restore(deleted)
    }
  }

  private func changeAttachments(of id: DocumentID, _ writer: borrowing WriteTransaction) throws {
    texts += 1
    let attachments = try writer.attachments(of: id)
    guard !attachments.isEmpty, random.number(below: 3) > 0 else {
      // Most contents are one chunk, some are several.
      let count = random.number(below: 4) == 0 ? 150_000 : random.number(below: 100)
      try writer.attach(
        [UInt8](repeating: UInt8(truncatingIfNeeded: texts), count: count), to: id, name: "file \(texts)")
      return
    }
    let attachment = attachments[random.number(below: attachments.count)]
    switch random.number(below: 6) {
    case 0, 1, 2: try writer.rename(attachment.id, to: "name \(texts)")
    case 3, 4: try writer.detach(attachment.id)
    default: try writer.delete(id)
    }
  }

  private func changeTextOrExistence(of id: DocumentID?, _ writer: borrowing WriteTransaction) throws {
    texts += 1
    guard let id else {
      _ = try writer.insert(Document(title: "title", text: "text"), into: DocumentCollection("notes"))
      return
    }
    switch random.number(below: 6) {
    case 0: try writer.delete(id)
    case 1:
      let deleted = try writer.deleteUndoably([id])
      if random.number(below: 3) > 0 { try writer.restore(deleted) }
    case 2, 3:
      // A store that deletes the document knows its text already, but not this attribute.
      let value = AttributeValue.string("\(texts)")
      try update(id, writer) { $0.attributes["a"] = value }
    default:
      let text = "text \(texts)"
      try update(id, writer) { $0.text = text }
    }
  }

  /// Changes a document at a date of its own, because edits of one millisecond would have equal dates.
  private func update(
    _ id: DocumentID, _ writer: borrowing WriteTransaction, _ change: (inout Document) -> Void
  ) throws {
    try writer.update(id) {
      change(&$0)
      $0.modified = Timestamp(millisecondsSince1970: Int64(texts) * 1000)
    }
  }
}

extension WriteTransaction {
  fileprivate func collection(of id: DocumentID) throws -> DocumentCollection? {
    let number = try header(of: id).collection
    return try collections().first { $0.id == number }?.handle
  }
}
