import CofferMergeModel

extension ObservedMerge {
  /// Checks that the report lists exactly the changes that were made without knowing each other.
  func checkConflicts() throws {
    for conflict in report.conflicts {
      switch conflict {
      case .bothChanged(let record, let name, let mine, let theirs):
        let known = [
          world.edit(of: record, name, dot: mine.dot).map(other.log.contains),
          world.edit(of: record, name, dot: theirs.dot).map(before.log.contains),
        ]
        try check(!known.contains(true), "One side knew the other's \(name) of \(record), which is no conflict.")
      case .deletedThere(let document):
        try checkDeletion(of: document, by: other, unknownTo: before)
      case .deletedHere(let document):
        try checkDeletion(of: document, by: before, unknownTo: other)
      }
    }
    try checkThatConflictsAreListed()
  }

  private func checkDeletion(
    of document: RecordID, by author: Participant, unknownTo keeper: Participant
  ) throws {
    let unknown = author.deletions(of: document).contains { !keeper.log.contains($0) }
    try check(unknown, "The deletion of \(document) was known, which is no conflict.")
  }

  private func checkThatConflictsAreListed() throws {
    var listed: [RecordID: Set<PartName>] = [:]
    for case .bothChanged(let record, let name, _, _) in report.conflicts {
      listed[record, default: []].insert(name)
    }
    for (document, mine, theirs) in common {
      for (name, part) in mine.parts {
        guard let theirPart = theirs.parts[name], theirPart.value != part.value,
          let edit = world.edit(of: document, name, dot: part.dot), !other.log.contains(edit),
          let theirEdit = world.edit(of: document, name, dot: theirPart.dot), !before.log.contains(theirEdit)
        else { continue }
        try check(listed[document]?.contains(name) == true, "A conflict of the \(name) of \(document) is missing.")
      }
    }
  }
}
