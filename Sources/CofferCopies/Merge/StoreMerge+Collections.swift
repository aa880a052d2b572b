internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords

// Collections are joined part by part, like documents. A collection is never removed.

extension StoreMerge {
  func decide(_ there: CollectionRecord) throws {
    guard let here = try mine.storedCollections().first(where: { $0.uid == there.uid }) else {
      if !there.isDropped { note(.added, .addedThere, collection: there.id) }
      return add(.add(there))
    }
    let join = PartJoin(replicas: replicas, myKept: .zero, theirKept: .zero)
    func part(_ mine: Dot, _ theirs: Dot, _ areEqual: Bool, _ prefersTheirs: Bool) throws(StoreError)
      -> JoinedDocument.Part
    {
      try join.side(mine, theirs, areEqual: areEqual, prefersTheirs: prefersTheirs)
    }
    var name = try part(
      here.dots.name, there.dots.name, here.storedName.isIdentical(to: there.storedName),
      here.storedName.utf8.lexicographicallyPrecedes(there.storedName.utf8))
    var settings = try part(here.dots.settings, there.dots.settings, here.settings == there.settings, false)
    var dropped = try part(here.dots.dropped, there.dots.dropped, here.isDropped == there.isDropped, false)
    let born = try part(here.dots.born, there.dots.born, true, false)
    let reason = MergeReport.Reason.editedOnBothSides
    if [name, settings, dropped].contains(where: \.isConflict) {
      let choice = try choose(reason, collection: here.id)
      if choice != .both {
        func decide(_ part: inout JoinedDocument.Part) {
          guard part.isConflict else { return }
          part.side = choice == .mine ? .mine : .theirs
          part.dot = fresh
        }
        decide(&name)
        decide(&settings)
        decide(&dropped)
      }
      let takes = [name, settings, dropped].contains { $0.side == .theirs && !$0.areEqual }
      note(takes ? .changed : .kept, reason, collection: here.id)
    } else if [name, settings, dropped].contains(where: { $0.side == .theirs && !$0.areEqual }) {
      note(.changed, .editedThere, collection: here.id)
    }
    var joined = here
    if name.side == .theirs { joined.rename(to: there.storedName) }
    if settings.side == .theirs { joined.settings = there.settings }
    if dropped.side == .theirs { joined.isDropped = there.isDropped }
    (joined.dots.born, joined.dots.name) = (born.dot, name.dot)
    (joined.dots.settings, joined.dots.dropped) = (settings.dot, dropped.dot)
    let all = [born, name, settings, dropped]
    switch (all.allSatisfy(\.isMine), all.allSatisfy(\.isTheirs)) {
    case (true, true): joined.dots.stamp = replicas.later(here.dots.stamp, there.dots.stamp)
    case (true, false): joined.dots.stamp = here.dots.stamp
    case (false, true): joined.dots.stamp = there.dots.stamp
    case (false, false): joined.dots.stamp = fresh
    }
    if joined.dots != here.dots || joined.isDropped != here.isDropped { add(.change(joined, from: here)) }
  }

  /// Writes the collections. Recomputes a collection's lookups if the collection now folds keys differently.
  func applyCollections() throws {
    for decision in collections {
      switch decision {
      case .add(let record):
        let taken = Set(try mine.storedCollections().map(\.id))
        var id = record.id
        if taken.contains(id) {
          id = (taken.max() ?? 0) + 1
          guard id <= UInt32(Int32.max) else { throw StoreError(.tooLarge, "no more collections can be made") }
        }
        var added = CollectionRecord(
          id: id, revision: try mine.writer.revision, name: record.storedName, settings: record.settings,
          uid: record.uid, dots: record.dots)
        added.isDropped = record.isDropped
        added.extensionBytes = record.extensionBytes
        try mine.writer.insertCollection(added)
      case .change(let joined, let here):
        var changed = joined
        changed.revision = try mine.writer.revision
        try mine.writer.replaceCollection(with: changed)
        if changed.foldsKeys != here.foldsKeys { try mine.collectionEditor.refold(changed, sharingKeys: true) }
      }
    }
  }
}

extension [CollectionRecord] {
  /// Requires each collection to have an identity of its own.
  ///
  /// - Throws: `setMismatch`.
  func requireDistinctIdentities() throws(StoreError) {
    guard Set(map(\.uid)).count == count else {
      throw StoreError(.setMismatch, "two collections have one identity")
    }
  }
}
