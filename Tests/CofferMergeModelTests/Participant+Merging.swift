import CofferMergeModel

extension Participant {
  /// Merges everything that another participant has, and checks the result.
  @discardableResult
  mutating func merge(_ other: Participant, policy: MergePolicy = .both) throws -> Report {
    try take(other.store.changes(since: VersionVector()), from: other, policy: policy)
  }

  /// Merges a changeset and checks the result.
  ///
  /// - Parameter other: The sender as it was when it made the changeset.
  @discardableResult
  mutating func take(
    _ changes: Changeset, from other: Participant, policy: MergePolicy = .both
  ) throws -> Report {
    let before = self
    let report = try store.apply(changes, policy: policy)
    var observed = ObservedMerge(
      world: world, before: before, other: other, changes: changes, policy: policy, report: report, after: self)
    try observed.checkConflicts()
    if policy == .fail, !report.conflicts.isEmpty {
      try check(hasSameState(as: before), "A merge with the policy `fail` changed the store.")
      return report
    }
    observed.noteConsequences()
    try observed.noteDecisions()
    try observed.checkTexts()
    try observed.checkDocuments()
    try observed.checkPlaces()
    self = observed.after
    try checkReading()
    return report
  }

  /// Returns whether two stores have stored the same.
  func hasSameState(as other: Participant) -> Bool {
    store.vector == other.store.vector && store.documents == other.store.documents
      && store.collections == other.store.collections && store.gone == other.store.gone
  }
}

/// A merge and everything that is known about both sides.
struct ObservedMerge {
  let world: World
  let before: Participant
  let other: Participant
  let changes: Changeset
  let policy: MergePolicy
  let report: Report
  /// The participant that merged. Its log is complete after `noteConsequences` and `noteDecisions`.
  var after: Participant

  /// The documents that both sides have, with both states.
  var common: [(document: RecordID, mine: ModelRecord, theirs: ModelRecord)] {
    changes.documents.compactMap { document, theirs in
      before.store.documents[document].map { (document, $0, theirs) }
    }
  }

  /// Adds to the log what the merge did: the events of the other side, and the edits that lost.
  mutating func noteConsequences() {
    after.log.formUnion(other.log)
    for change in report.changes where change.kind == .copied {
      world.copies.insert(change.record)
      // A copy that was deleted comes back where its text had become the document's own.
      if !after.deletions(of: change.record).isEmpty {
        after.noteEdit(of: change.record, .text)
      }
    }
    // Equal contents count as one edit.
    for (document, mine, theirs) in common {
      let parts = (after.store.documents[document] ?? mine).parts
      for (name, part) in mine.parts where parts[name] != nil {
        guard let theirPart = theirs.parts[name], theirPart.value == part.value, theirPart.dot != part.dot
        else { continue }
        after.noteLoss(of: document, name, dot: min(part.dot, theirPart.dot))
      }
    }
    for conflict in report.conflicts {
      if case .bothChanged(let record, let name, let mine, let theirs) = conflict,
        let part = after.store.documents[record]?.parts[name]
      {
        after.noteLoss(of: record, name, dot: part.dot == mine.dot ? theirs.dot : mine.dot)
      }
      after.log.insert(world.addDecision(about: conflict.record))
    }
  }

  /// Adds a person's decisions to the log. A decision for one's own content is an edit.
  mutating func noteDecisions() throws {
    guard policy == .mine || policy == .theirs else { return }
    for conflict in report.conflicts where after.store.documents[conflict.record] != nil {
      switch conflict {
      case .bothChanged(let document, let name, _, _):
        if policy == .mine {
          after.noteEdit(of: document, name)
        }
      case .deletedHere(let document), .deletedThere(let document):
        after.noteEdit(of: document, .born)
      }
    }
    let texts = after.texts
    for conflict in report.conflicts {
      switch conflict {
      case .bothChanged(let document, .text, let mine, let theirs):
        guard let record = after.store.documents[document] else { continue }
        let (chosen, rejected) = policy == .mine ? (mine.value, theirs.value) : (theirs.value, mine.value)
        try check(record[.text] == chosen, "The decision about the text of \(document) was not carried out.")
        if let text = rejected.string, !texts.contains(text) {
          after.noteRemoval(of: text)
        }
      case .deletedHere(let document), .deletedThere(let document):
        noteDecidedDeletion(of: document, texts: texts)
      case .bothChanged:
        continue
      }
    }
  }

  private mutating func noteDecidedDeletion(of document: RecordID, texts: Set<String>) {
    let records = [before, other].compactMap { $0.store.documents[document] }
    guard after.store.documents[document] == nil, !records.isEmpty else { return }
    for record in records where !texts.contains(record.text) {
      after.noteRemoval(of: record.text)
    }
    after.noteDeletion(of: document)
  }
}
