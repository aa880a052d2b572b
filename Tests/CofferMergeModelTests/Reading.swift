import CofferMergeModel

/// Everything that a reader of a store sees.
struct Reading: Equatable {
  let documents: [RecordID: [PartName: PartValue]]
  let order: [RecordID: [RecordID]]
  let keys: [KeySlot: RecordID]
  let parents: [RecordID: RecordID]
  let names: [RecordID: String]

  init(_ store: ModelStore) {
    documents = store.documents.mapValues { $0.parts.mapValues(\.value).filter { $0.value != .empty } }
    order = Dictionary(uniqueKeysWithValues: store.listedCollections.map { ($0, store.order(of: $0)) })
    keys = store.keys
    parents = store.parents
    names = store.names
  }
}

extension Participant {
  /// Checks what a reader sees: keys, parents, names and collections.
  func checkReading() throws {
    let keys = store.keys
    for (slot, document) in keys {
      let record = store.documents[document]
      try check(
        record?.key == slot.key && record?.place.collection == slot.collection,
        "The document \(document) does not have the key \(slot.key) that it holds.")
    }
    for record in store.documents.values {
      guard let key = record.key else { continue }
      let slot = KeySlot(collection: record.place.collection, key: key)
      try check(keys[slot] != nil, "Nobody holds the key \(key).")
    }
    let parents = store.parents
    for start in parents.keys {
      var document = start
      var steps = 0
      while let parent = parents[document] {
        document = parent
        steps += 1
        try check(steps <= parents.count, "The parents of \(start) form a cycle.")
      }
    }
    let names = store.names
    try check(Set(names.values).count == names.count, "Two collections read as having the same name.")
    try check(Set(names.keys) == store.listedCollections, "A listed collection has no name.")
    for (document, record) in store.documents {
      try check(names[record.place.collection] != nil, "The collection of \(document) is not listed.")
    }
    try check(store.gone.keys.allSatisfy { store.documents[$0] == nil }, "A document is both present and deleted.")
  }
}

extension [Participant] {
  /// Whether all stores have the same records, and readers see the same. Entries of deletions may differ.
  var agree: Bool {
    guard let first else { return true }
    return dropFirst().allSatisfy { other in
      first.store.documents == other.store.documents && first.store.collections == other.store.collections
        && first.store.vector == other.store.vector && Reading(first.store) == Reading(other.store)
    }
  }

  /// Makes every participant take from every other one, in random order, until all stores agree.
  ///
  /// - Returns: Whether the stores agree after at most 12 rounds.
  mutating func exchange(
    _ take: (inout Participant, Participant) throws -> Void
  ) throws -> Bool {
    for _ in 0..<12 {
      var pairs = indices.flatMap { i in indices.filter { $0 != i }.map { (i, $0) } }
      if let world = first?.world {
        pairs.shuffle(using: &world.generator)
      }
      for (receiver, sender) in pairs {
        let other = self[sender]
        try take(&self[receiver], other)
      }
      if agree { return true }
    }
    return false
  }

  /// Checks that documents which were inserted together are in order, and that runs made without knowing each other do
  /// not mix.
  func checkRuns() throws {
    guard let participant = first else { return }
    let runs = participant.world.runs.compactMap { RemainingRun($0, in: participant.store) }
    for (index, run) in runs.enumerated() {
      try check(run.positions == run.positions.sorted(), "Documents that were inserted together are out of order.")
      for other in runs[..<index] where run.isIndependent(of: other, in: participant.world) {
        let isSeparate =
          run.positions[run.positions.count - 1] < other.positions[0]
          || other.positions[other.positions.count - 1] < run.positions[0]
        try check(isSeparate, "Documents that were inserted together are mixed with others.")
      }
    }
  }
}

/// What is left of documents that were inserted together, without those that were moved or deleted since.
private struct RemainingRun {
  let run: World.Run
  let positions: [Position]

  init?(_ run: World.Run, in store: ModelStore) {
    let remaining = zip(run.documents, run.places).filter { store.documents[$0]?.place == $1 }
    guard remaining.count > 1 else { return nil }
    self.run = run
    positions = remaining.map(\.1.position)
  }

  func isIndependent(of other: RemainingRun, in world: World) -> Bool {
    run.places[0].collection == other.run.places[0].collection
      && !other.run.documents.contains { world.changes[$0, default: []].contains(where: run.log.contains) }
      && !run.documents.contains { world.changes[$0, default: []].contains(where: other.run.log.contains) }
  }
}
