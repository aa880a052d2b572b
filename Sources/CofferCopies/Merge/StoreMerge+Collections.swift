internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords

// Collections are matched by identity. New collections with the same name and settings are combined.

extension StoreMerge {
  func mergeCollections() throws {
    let here = try mine.collections()
    let there = try theirs.collections()
    for record in there {
      if let known = here.first(where: { $0.uid == record.uid }) {
        try mergeCollection(known, record)
      } else if record.born <= base.seenHere, !(base.isChain && record.revision > base.seenHere) {
        droppedHere.insert(record.id)
      } else if let twin = here.first(where: { $0.born > base.seenThere && $0.hasEqualNameAndSettings(as: record) }) {
        numbers[record.id] = twin.id
        var joined = twin
        joined.uid = record.uid
        if base.keepsStamps { (joined.born, joined.edited) = (record.born, record.edited) }
        try change(joined)
      } else {
        let number = try add(record)
        note(.added, .addedThere, collection: number)
      }
    }
    let known = Set(there.map(\.uid))
    for record in here where !known.contains(record.uid) && record.born <= base.seenThere {
      if numbers.values.contains(record.id) { continue }
      droppedThere.append(record.id)
    }
  }

  /// Merges the name and settings of a collection that both stores contain.
  private func mergeCollection(_ known: CollectionRecord, _ record: CollectionRecord) throws {
    numbers[record.id] = known.id
    guard !known.hasEqualContents(as: record) else { return }
    var reason = MergeReport.Reason.editedThere
    // A copy can have taken the change from its original.
    let isTaken = base.isChain && record.revision > base.seenHere && record.edited != known.edited
    switch base.change(mine: known.edited, theirs: isTaken ? record.revision : record.edited) {
    case .noneThere: return
    case .onlyThere: break
    case .both where known.hasEqualNameAndSettings(as: record):
      guard prefersTheirs else { return }
    case .both:
      reason = .editedOnBothSides
      guard case .theirs = try decide(reason, collection: known.id) else {
        return note(.kept, reason, collection: known.id)
      }
    }
    var changed = known
    changed.name = record.name
    changed.settings = record.settings
    changed.edited = base.keepsStamps ? record.edited : writer.revision
    try change(changed)
    if !changed.name.isIdentical(to: known.name) { namedThere.insert(known.id) }
    if changed.foldsKeys != known.foldsKeys { try mine.collectionEditor.refold(changed) }
    note(.changed, reason, collection: known.id)
  }

  private func change(_ record: CollectionRecord) throws(StoreError) {
    var changed = record
    changed.epoch = mine.keys.active.epoch
    changed.revision = writer.revision
    try writer.willWrite()
    try writer.replaceCollection(with: changed)
  }

  /// Adds a collection from the other store, keeping its number if it's unused.
  private func add(_ record: CollectionRecord) throws(StoreError) -> UInt32 {
    let taken = Set(try mine.collections().map(\.id))
    var added = record
    if taken.contains(record.id) {
      let highest = taken.max() ?? 0
      guard highest < UInt32(Int32.max) else { throw StoreError(.tooLarge, "no more collections can be made") }
      added.id = highest + 1
    }
    added.epoch = mine.keys.active.epoch
    added.revision = writer.revision
    if !base.keepsStamps { (added.born, added.edited) = (writer.revision, writer.revision) }
    try writer.insertCollection(added)
    numbers[record.id] = added.id
    namedThere.insert(added.id)
    return added.id
  }

  /// Returns this store's counterpart of the other store's collection, or `nil` if it remains dropped here.
  func collectionHere(_ number: UInt32) throws -> CollectionRecord? {
    if let known = numbers[number] { return try mine.collections().first { $0.id == known } }
    if remainsDropped.contains(number) { return nil }
    guard droppedHere.contains(number) else {
      throw StoreError(.damaged, "collection #\(number) is gone, but documents of it are there")
    }
    let choice = try decide(.droppedHereUsedThere, collection: number)
    guard case .theirs = choice, var record = try theirs.collections().first(where: { $0.id == number }) else {
      note(.kept, .droppedHereUsedThere, collection: number)
      remainsDropped.insert(number)
      return nil
    }
    // Mark the restored collection as new, so the other store doesn't see it as dropped.
    record.born = writer.revision
    let restored = try add(record)
    note(.added, .droppedHereUsedThere, collection: restored)
    return try mine.collections().first { $0.id == restored }
  }

  /// Decides which collections dropped in the other store are kept.
  ///
  /// A collection that this store uses is kept, unless the other store wins. Its documents then move or are deleted.
  ///
  /// - Parameter pairs: Receives the moved documents.
  func resolveDroppedCollections(_ pairs: inout [Pair]) throws {
    guard !droppedThere.isEmpty else { return }
    var known: [Int64: Pair] = [:]
    for pair in pairs { known[pair.id] = pair }
    for number in droppedThere {
      guard let record = try mine.collections().first(where: { $0.id == number }) else { continue }
      let rest = try writer.ids(SQL.someIDsInCollection, Int64(number), .max).map(\.rawValue).filter {
        known[$0]?.takesPosition != true
      }
      guard !rest.isEmpty else {
        emptied.append(record)
        note(.deleted, .deletedThere, collection: number)
        continue
      }
      let reason = MergeReport.Reason.usedHereDroppedThere
      guard case .theirs = try decide(reason, collection: number) else {
        var stays = record
        stays.born = writer.revision
        try change(stays)
        note(.kept, reason, collection: number)
        continue
      }
      for id in rest {
        if let pair = try known[id] ?? elsewhere(id), try collectionHere(pair.theirs.fields.collection) != nil {
          if known[id] == nil { pairs.append(pair) }
          pair.takesPosition = true
          note(.moved, reason, id: id, otherID: pair.theirs.id)
        } else if let row = try MergeRow.find(id, in: mine) {
          try delete(row)
          note(.deleted, reason, id: id)
        }
      }
      emptied.append(record)
      note(.deleted, reason, collection: number)
    }
  }

  /// Returns the pair for a document in both stores, regardless of its collections.
  private func elsewhere(_ id: Int64) throws -> Pair? {
    guard let here = try MergeRow.find(id, in: mine), let there = try rowThere(id), there.stamps.uid == here.stamps.uid
    else { return nil }
    return Pair(there, here, id: id)
  }

  func deleteEmptiedCollections() throws(StoreError) {
    for record in emptied { try writer.deleteCollection(record) }
  }

  /// Renames one of two collections with the same name.
  func mergeNames() throws {
    var known: [[UInt8]: CollectionRecord] = [:]
    for record in try mine.collections() {
      let name = Array(record.name.utf8)
      guard let other = known[name] else {
        known[name] = record
        continue
      }
      let (ours, others) = namedThere.contains(record.id) ? (other, record) : (record, other)
      let choice = try decide(.equalNames, collection: ours.id)
      var loser = if case .theirs = choice { ours } else { others }
      loser.name = try freeName(for: loser.name)
      try change(loser)
      note(.renamed, .equalNames, collection: loser.id)
    }
  }

  private func freeName(for name: String) throws(StoreError) -> String {
    var number = 2
    while true {
      let marked = "\(name) (\(number))"
      guard marked.utf8.count <= StoreFormat.maximumCollectionName else {
        throw StoreError(
          .tooLarge, "two collections have one name, which is too long to be marked",
          hint: "rename one of them, and merge again")
      }
      if try mine.collection(named: marked) == nil { return marked }
      number += 1
    }
  }
}

extension CollectionRecord {
  fileprivate func hasEqualContents(as other: CollectionRecord) -> Bool {
    name.isIdentical(to: other.name) && settings == other.settings
  }

  /// Ignores the position among collections, because it never causes a conflict.
  fileprivate func hasEqualNameAndSettings(as other: CollectionRecord) -> Bool {
    var settings = settings
    settings.order = other.settings.order
    return name.isIdentical(to: other.name) && settings == other.settings
  }

}
