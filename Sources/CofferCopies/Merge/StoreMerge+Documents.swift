internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords

// Merging documents, which includes pairing them, choosing a store for each part, and writing rows.

// MARK: - Pairs

extension StoreMerge {
  /// Pairs the other store's changed documents with this store's documents, and applies deletions.
  func pair(_ changes: ChangesThere) throws -> [Pair] {
    for id in changes.missing {
      if let row = try MergeRow.find(id, in: mine) { try leave(row) }
    }
    var pairs: [Pair] = []
    for id in changes.present {
      guard let row = try rowThere(id), try opens(id) else {
        note(.skipped, .damagedThere, otherID: id)
        continue
      }
      pairs.append(try pair(row))
    }
    // If a different document has the ID there, this document was deleted there or its ID was assigned here.
    for pair in pairs where pair.isNew && pair.id == pair.theirs.id {
      if let other = try MergeRow.find(pair.id, in: mine) { try leave(other) }
    }
    return pairs
  }

  /// Returns whether the other store's text decrypts, or `true` if damaged documents aren't skipped.
  private func opens(_ id: Int64) throws(StoreError) -> Bool {
    guard options.skipsDamaged else { return true }
    do throws(StoreError) {
      try theirs.withOpened(DocumentID(id)) { _ in }
      return true
    } catch {
      guard error.code == .damaged else { throw error }
      return false
    }
  }

  private func pair(_ row: MergeRow) throws(StoreError) -> Pair {
    if let id = try idHere(row) { return Pair(row, try MergeRow.find(id, in: mine), id: id) }
    var id = row.id
    let isNew = row.changes.born > base.seenHere
    // IDs that an original assigned or will assign are reserved for its documents.
    let isOriginals: Bool =
      switch base.relation {
      case .original, .file: false
      case .copy: UInt64(row.id) < mine.start.nextID
      case .sibling: UInt64(row.id) < max(mine.start.origin.nextID, theirs.start.origin.nextID)
      }
    let isFree = if isOriginals { try !mine.hasRow(DocumentID(row.id)) } else { base.leavesIDs }
    if isNew, !isFree {
      id = try DocumentID.next(mine.state.nextID, unless: nil)
      try writer.reserveIDs(through: UInt64(id))
    }
    if isNew { localIDs[row.id] = id }
    return Pair(row, nil, id: id)
  }

  /// Deletes a document if the other store deleted it and wins any conflict.
  ///
  /// - Returns: Whether the document was deleted.
  @discardableResult
  private func leave(_ row: MergeRow) throws -> Bool {
    guard row.stamps.born <= base.seenThere else { return false }
    // The other store can have the document under a different ID.
    if base.relation != .original || UInt64(row.id) >= mine.start.origin.nextID {
      guard try idThere(row.stamps.uid) == nil else { return false }
    }
    if row.stamps.edited > base.seenThere {
      let choice = try decide(.editedHereDeletedThere, mine: row.id, withTexts: true)
      guard case .theirs = choice else {
        note(.kept, .editedHereDeletedThere, id: row.id)
        kept.insert(row.id)
        try writer.rewrite(DocumentID(row.id), changing: [], as: .head) { content, _ throws(StoreError) in
          content.stamps = row.stamps
          content.stamps.born = writer.revision
        }
        return false
      }
      note(.deleted, .editedHereDeletedThere, id: row.id)
    } else {
      note(.deleted, .deletedThere, id: row.id)
    }
    try delete(row)
    return true
  }

  func delete(_ row: MergeRow) throws(StoreError) {
    try writer.delete(DocumentID(row.id), in: row.fields.collection)
    departed.insert(row.id)
  }

  /// Assigns a new ID to a document whose ID is taken by a merged document, and updates its children's parent.
  private func renumber(_ row: MergeRow) throws(StoreError) {
    let id = try DocumentID.next(max(mine.state.nextID, mine.state.firstOwnID), unless: nil)
    let stored = try mine.storedDocument(DocumentID(row.id))
    guard let record = try mine.collections().first(where: { $0.id == row.fields.collection }) else {
      throw .damagedDocument(row.id, "its collection is gone")
    }
    try writer.delete(DocumentID(row.id))
    try writer.insert(
      stored.document, id: id, in: record, isNew: false, position: row.position, now: .now(),
      stamps: row.stamps)
    for child in try writer.ids(SQL.idsOfChildren, row.id) { try setParent(of: child.rawValue, to: id) }
    departed.insert(row.id)
    if kept.remove(row.id) != nil { kept.insert(id) }
    note(.renumbered, .equalIDs, id: id, otherID: row.id)
  }
}

// MARK: - Decisions

extension StoreMerge {
  /// Decides which store provides each part of a document.
  func settle(_ pair: Pair) throws {
    let there = pair.theirs
    guard let here = pair.mine else {
      if there.changes.born > base.seenHere {
        (pair.takesContents, pair.takesPosition) = (true, true)
      } else if there.changes.edited > base.seenHere {
        let choice = try decide(.deletedHereEditedThere, theirs: there.id, withTexts: true)
        guard case .theirs = choice else { return note(.kept, .deletedHereEditedThere, otherID: there.id) }
        (pair.takesContents, pair.takesPosition) = (true, true)
      }
      guard pair.takesPosition, try collectionHere(there.fields.collection) == nil else { return }
      (pair.takesContents, pair.takesPosition) = (false, false)
      return note(.kept, .droppedHereUsedThere, otherID: there.id)
    }
    try settleContents(pair, here)
    try settlePlace(pair, here)
  }

  private func settleContents(_ pair: Pair, _ here: MergeRow) throws {
    let there = pair.theirs
    // Dates aren't stamped, so the later modification wins.
    let isDatedLater = (there.modified, -there.created) > (here.modified, -here.created)
    switch base.change(mine: here.stamps.edited, theirs: there.changes.edited) {
    case .onlyThere:
      pair.takesContents = true
    case .noneThere:
      pair.takesDates = isDatedLater && base.isUnchanged(mine: here.stamps.edited, theirs: there.changes.edited)
    case .both:
      guard try areEqual(pair) else { return try settleBothEdited(pair) }
      // Both stores made the same edit. With the original's stamp, it no longer counts as this store's edit.
      pair.takesContents = base.relation == .original
      pair.takesDates = isDatedLater
    }
  }

  private func settleBothEdited(_ pair: Pair) throws {
    let reason = MergeReport.Reason.editedOnBothSides
    switch try decide(reason, mine: pair.id, theirs: pair.theirs.id, withTexts: true) {
    case .mine:
      note(.kept, reason, id: pair.id, otherID: pair.theirs.id)
    case .theirs:
      pair.takesContents = true
      note(.changed, reason, id: pair.id, otherID: pair.theirs.id)
    case .both:
      copies.append(pair)
    }
  }

  private func settlePlace(_ pair: Pair, _ here: MergeRow) throws {
    let there = pair.theirs
    switch base.change(mine: here.stamps.placed, theirs: there.changes.placed) {
    case .noneThere: return
    case .onlyThere: pair.takesPosition = true
    case .both:
      guard try haveSamePosition(pair, here) else {
        let reason = MergeReport.Reason.movedOnBothSides
        guard case .theirs = try decide(reason, mine: pair.id, theirs: there.id) else {
          return note(.kept, reason, id: pair.id, otherID: there.id)
        }
        pair.takesPosition = true
        note(.moved, reason, id: pair.id, otherID: there.id)
        break
      }
      pair.takesPosition = prefersTheirs
      pair.sharesPosition = !prefersTheirs && base.relation == .original
    }
    guard pair.takesPosition, try collectionHere(there.fields.collection) == nil else { return }
    pair.takesPosition = false
    note(.kept, .droppedHereUsedThere, id: pair.id, otherID: there.id)
  }

  /// Returns whether the title, text, key, attributes and kind are identical, byte by byte.
  private func areEqual(_ pair: Pair) throws(StoreError) -> Bool {
    var one = try mine.document(DocumentID(pair.id))
    var other = try theirs.document(DocumentID(pair.theirs.id))
    (one.created, one.modified, one.parent) = (nil, nil, nil)
    (other.created, other.modified, other.parent) = (nil, nil, nil)
    return one.isIdentical(to: other)
  }
}

// MARK: - Writing

extension StoreMerge {
  /// Writes the documents that take contents or positions from the other store.
  func write(_ pairs: [Pair]) throws {
    for pair in pairs {
      if pair.takesPosition { placed[pair.id] = pair }
      guard let here = pair.mine else { continue }
      let isElsewhere = pair.takesPosition && here.fields.collection != numbers[pair.theirs.fields.collection]
      if pair.takesContents || isElsewhere { pending.insert(pair.id) }
    }
    for pair in pairs where pair.isNew && pair.takesPosition {
      if let other = try MergeRow.find(pair.id, in: mine) { try renumber(other) }
    }
    // Compute all groups before writing, because they depend on the positions before the merge.
    for group in try groups(of: pairs.filter(\.takesPosition)) { try write(group) }
    for pair in pairs where (pair.takesContents || pair.takesDates || pair.sharesPosition) && !pair.takesPosition {
      guard let here = pair.mine, let record = try mine.collections().first(where: { $0.id == here.fields.collection })
      else { throw StoreError.damagedDocument(pair.id, "its collection is gone") }
      try write(pair, in: record, at: nil)
    }
  }

  /// Writes a document, keeping its position if `position` is `nil`.
  func write(_ pair: Pair, in record: CollectionRecord, at position: DocumentPosition?) throws {
    let there = pair.theirs
    let source = try theirs.document(DocumentID(there.id))
    defer { if pair.takesContents { contentsThere.insert(pair.id) } }
    guard let here = pair.mine else {
      var document = source
      document.parent = try parentHere(of: pair).map { DocumentID($0) }
      document.key = try free(source.key, for: pair, in: record)
      var stamps = base.keepsStamps ? there.stamps : DocumentStamps(born: writer.revision, uid: there.stamps.uid)
      // The other copy's birth generation isn't valid in this copy.
      if base.relation == .sibling, stamps.born >= base.firstOwn { stamps.born = writer.revision }
      let place = if let position { position } else { try mine.order.position(for: .bottom, in: record.id) }
      try writer.insert(document, id: pair.id, in: record, isNew: false, position: place, now: .now(), stamps: stamps)
      departed.insert(pair.id)
      return note(
        .added, there.changes.born > base.seenHere ? .addedThere : .deletedHereEditedThere, id: pair.id,
        otherID: there.id)
    }
    let old = try mine.storedDocument(DocumentID(pair.id))
    var new = old.document
    var stamps = here.stamps
    // The original now has the document, so a later deletion there also applies here.
    if base.relation == .original, stamps.born > base.seenThere { stamps.born = there.stamps.born }
    new.key = removedKeys.removeValue(forKey: pair.id) ?? new.key
    if pair.takesContents {
      new = source
      new.parent = old.document.parent
      stamps.edited = there.stamps.edited
    }
    if pair.takesDates { (new.created, new.modified) = (source.created, source.modified) }
    if pair.sharesPosition { stamps.placed = there.stamps.placed }
    if position != nil {
      new.parent = try parentHere(of: pair).map { DocumentID($0) }
      stamps.placed = there.stamps.placed
      if record.id != here.fields.collection { departed.insert(pair.id) }
    }
    new.key = try free(new.key, for: pair, in: record)
    pending.remove(pair.id)
    try writer.replace(old, with: new, in: record, movedTo: position, stamps: base.keepsStamps ? stamps : nil)
    let isBoth = base.change(mine: here.stamps.edited, theirs: there.changes.edited) == .both
    if pair.takesContents && !isBoth || pair.takesDates {
      note(.changed, .editedThere, id: pair.id, otherID: there.id)
    }
    if position != nil, base.change(mine: here.stamps.placed, theirs: there.changes.placed) == .onlyThere {
      note(.moved, .movedThere, id: pair.id, otherID: there.id)
    }
  }

  /// Returns the key for a pair's document, or `nil` if another document keeps it.
  private func free(_ key: DocumentKey?, for pair: Pair, in record: CollectionRecord) throws -> DocumentKey? {
    guard let key, let holder = try mine.id(forKey: key, in: record), holder.rawValue != pair.id else { return key }
    if pending.contains(holder.rawValue) {
      // The holder receives its own key or the other store's key when it's written.
      removedKeys[holder.rawValue] = try takeKey(of: holder)
      return key
    }
    let reason = MergeReport.Reason.equalKeys
    let choice = try decide(reason, mine: holder.rawValue, theirs: pair.theirs.id)
    let wins: Bool = if case .theirs = choice { true } else { false }
    // The store of the document's contents decides. If both contents come from one store, its position's store decides.
    let other = contentsThere.contains(holder.rawValue)
    let isFromThere = pair.takesContents != other ? pair.takesContents : pair.takesPosition
    guard isFromThere == wins else {
      note(.keyRemoved, reason, id: pair.id, otherID: pair.theirs.id)
      return nil
    }
    _ = try takeKey(of: holder)
    note(.keyRemoved, reason, id: holder.rawValue, otherID: pair.theirs.id)
    return key
  }

  /// Removes and returns a document's key without changing its stamps.
  private func takeKey(of id: DocumentID) throws(StoreError) -> DocumentKey? {
    let row = try MergeRow.find(id.rawValue, in: mine)
    let key = try mine.header(of: id).key
    try writer.rewrite(id, changing: .blindIndex, as: .head) { content, _ throws(StoreError) in
      content.key = nil
      content.blindIndex = nil
      if let row { content.stamps = row.stamps }
    }
    return key
  }

  /// Adds the other store's versions of documents that both stores edited, after this store's versions.
  func addCopies() throws {
    for pair in copies {
      let id = DocumentID(pair.id)
      let here = try mine.header(of: id)
      let record = try mine.requireCollection(of: here)
      var document = try theirs.document(DocumentID(pair.theirs.id))
      document.title = Self.marked(document.title)
      document.key = nil
      document.parent = here.parent
      // Derive the same identity for the same edit, so a later merge doesn't add another copy.
      let uid = Self.identity(ofCopyOf: pair.theirs.stamps)
      guard try identity(uid) == nil else {
        note(.kept, .editedOnBothSides, id: pair.id, otherID: pair.theirs.id)
        continue
      }
      let position = try mine.order.position(for: .after(id), in: record.id)
      let copy = try DocumentID.next(mine.state.nextID, unless: nil)
      try writer.insert(
        document, id: copy, in: record, isNew: false, position: position, now: .now(),
        stamps: DocumentStamps(born: writer.revision, uid: uid))
      note(.copied, .editedOnBothSides, id: copy, otherID: pair.theirs.id)
    }
  }

  private static func identity(ofCopyOf stamps: DocumentStamps) -> UniqueID {
    var mixed = stamps.uid.low ^ (stamps.edited &* 0x9E37_79B9_7F4A_7C15)
    mixed = (mixed ^ mixed >> 31) &* 0xBF58_476D_1CE4_E5B9
    return UniqueID(high: stamps.uid.high, low: mixed ^ mixed >> 29)
  }

  /// Returns the title with a copy mark, or the unchanged title if the marked title would be too long.
  private static func marked(_ title: String?) -> String {
    guard let title, !title.isEmpty else { return "(other copy)" }
    let marked = "\(title) (other copy)"
    return marked.utf8.count <= StoreFormat.maximumTitle ? marked : title
  }
}
