import CofferMergeModel

extension Participant {
  /// Makes a random edit. An edit that the store refuses changes nothing.
  mutating func act() throws {
    let textsBefore = texts
    do throws(ModelError) {
      try actOnce()
    } catch .refused {
    }
    for text in textsBefore.subtracting(texts) {
      noteRemoval(of: text)
    }
  }

  private mutating func actOnce() throws(ModelError) {
    let listed = store.listedCollections.sorted()
    let documents = store.documents.keys.sorted()
    switch world.fraction() {
    case ..<0.03:
      try store.createCollection(named: world.pick(["a", "b", "c"]))
    case _ where listed.isEmpty:
      try store.createCollection(named: world.pick(["a", "b", "c"]))
    case ..<0.04:
      try store.renameCollection(world.pick(listed), to: world.pick(["a", "b", "c"]))
    case ..<0.055:
      for document in try store.dropCollection(world.pick(listed)) {
        noteDeletion(of: document)
      }
    case ..<0.25 where documents.count < world.documents:
      try insertDocuments(into: world.pick(listed))
    case _ where documents.isEmpty:
      try insertDocuments(into: world.pick(listed))
    default:
      try change(world.pick(documents), listed: listed)
    }
  }

  private mutating func insertDocuments(into collection: RecordID) throws(ModelError) {
    let row = store.order(of: collection)
    let texts = (0..<world.pick([1, 1, 1, 3, 4])).map { _ in "text \(world.newNumber())" }
    let inserted = try store.insert(
      texts, into: collection,
      at: world.pick([0, row.count, row.count, world.number(in: 0...row.count)]),
      title: "title \(world.newNumber())",
      key: texts.count == 1 && world.chance(0.4) ? world.pick(["k1", "k2"]) : nil,
      parent: !row.isEmpty && world.chance(0.3) ? world.pick(row) : nil,
      attributes: ["m": "value \(world.newNumber())"])
    for document in inserted {
      for part in (store.documents[document]?.parts ?? [:]).keys.sorted() {
        noteEdit(of: document, part)
      }
    }
    if inserted.count > 1 {
      let places = inserted.compactMap { store.documents[$0]?.place }
      world.runs.append(World.Run(documents: inserted, places: places, log: log))
    }
  }

  private mutating func change(_ document: RecordID, listed: [RecordID]) throws(ModelError) {
    switch world.fraction() {
    case ..<0.40:
      let text = world.chance(0.93) ? "text \(world.newNumber())" : "same \(document)"
      try edit(document, .text, .string(text))
    case ..<0.50:
      try edit(document, .title, .string("title \(world.newNumber())"))
    case ..<0.57:
      try edit(document, .key, PartValue(world.pick(["k1", "k2", nil])))
    case ..<0.65:
      let value = world.pick([nil, "value \(world.newNumber())"])
      try edit(document, .attribute(world.pick(["m", "n", "p"])), PartValue(value))
    case ..<0.80:
      try move(document, listed: listed)
    default:
      try store.delete(document)
      noteDeletion(of: document)
    }
  }

  private mutating func edit(_ document: RecordID, _ part: PartName, _ value: PartValue) throws(ModelError) {
    try store.edit(document, part, value)
    noteEdit(of: document, part)
  }

  private mutating func move(_ document: RecordID, listed: [RecordID]) throws(ModelError) {
    var collection = world.pick(listed)
    if world.chance(0.7), let place = store.documents[document]?.place {
      collection = place.collection
    }
    let row = store.order(of: collection)
    let parent = !row.isEmpty && world.chance(0.5) ? world.pick(row) : nil
    let index = world.number(in: 0...row.count)
    try store.move(document, to: collection, at: index, parent: parent == document ? nil : parent)
    noteEdit(of: document, .place)
  }
}
