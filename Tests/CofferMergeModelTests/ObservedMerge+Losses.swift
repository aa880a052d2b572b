import CofferMergeModel

extension ObservedMerge {
  /// Checks that every text is still there, unless a person removed it.
  mutating func checkTexts() throws {
    let theirTexts =
      changes.base == VersionVector() ? other.texts : Set(changes.documents.values.map(\.text))
    for text in before.texts.union(theirTexts).subtracting(after.texts) {
      let showing = Set([before, other].flatMap { $0.store.documents.filter { $0.value.text == text }.keys })
      let eachIsGone = showing.allSatisfy { !after.deletions(of: $0).isEmpty || after.showsRewrittenText(of: $0) }
      if showing.count > 1, eachIsGone {
        // Different people removed different copies of one text at the same time.
        after.noteRemoval(of: text)
      }
      try check(after.removed(text), "The text \(text) is lost with the policy \(policy).")
    }
  }

  /// Checks that deletions, and contents that were replaced, neither spread too far nor are undone.
  func checkDocuments() throws {
    for document in Set(before.store.documents.keys).union(changes.documents.keys) {
      let edits = after.edits(of: document)
      let deletions = after.deletions(of: document)
      guard let record = after.store.documents[document] else {
        for old in [before.store.documents[document], changes.documents[document]].compactMap({ $0 }) {
          try checkAbsence(of: document, old, edits: edits, deletions: deletions)
        }
        continue
      }
      for deletion in deletions {
        let hasUnknownEdit = edits.contains { !world.has(deletion, seen: $0) }
        try check(hasUnknownEdit, "The deletion of \(document) was undone although it had seen every edit.")
      }
      if deletions.isEmpty {
        try checkNewest(document, record, edits: edits)
      }
    }
  }

  /// Checks that a document which is gone was deleted by somebody who had seen all of it.
  private func checkAbsence(
    of document: RecordID, _ old: ModelRecord, edits: [EventID], deletions: [EventID]
  ) throws {
    try check(!deletions.isEmpty, "The document \(document) is gone although nobody deleted it.")
    let textRemains = after.texts.contains(old.text) || after.removed(old.text)
    for (name, part) in old.parts {
      guard let edit = world.edit(of: document, name, dot: part.dot) else { continue }
      let isKnown =
        deletions.contains { world.has($0, seen: edit) }
        || after.lost(edit)
        || edits.contains { world.part(of: $0) == name && world.has($0, seen: edit) }
        || name == .text && textRemains
      try check(isKnown, "The document \(document) is gone although nobody who deleted it had seen its \(name).")
    }
  }

  /// Checks that no content is shown which somebody replaced.
  private func checkNewest(_ document: RecordID, _ record: ModelRecord, edits: [EventID]) throws {
    var shown: [PartName: EventID] = [:]
    for (name, part) in record.parts {
      shown[name] = world.edit(of: document, name, dot: part.dot)
    }
    for edit in edits {
      guard let name = world.part(of: edit), let shownEdit = shown[name] else { continue }
      try check(!world.has(edit, seen: shownEdit), "The \(name) of \(document) was replaced, but is shown.")
    }
  }

  /// Checks that a document is elsewhere only if the other side moved it, decided about it or deleted it.
  func checkPlaces() throws {
    for (document, old) in before.store.documents {
      guard let record = after.store.documents[document], record.place != old.place else { continue }
      let isNew = { (event: EventID) in other.log.contains(event) && !before.log.contains(event) }
      let isExplained =
        other.edits(of: document).contains { world.part(of: $0) == .place && isNew($0) }
        || world.copies.contains(document)
        || world.decisions[document, default: []].contains(where: isNew)
        || !after.deletions(of: document).isEmpty
      try check(isExplained, "The document \(document) moved although nobody moved it.")
    }
  }
}
