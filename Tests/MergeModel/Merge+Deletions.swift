extension Merge {
  /// Merges a deletion on the other side with the document here.
  mutating func receiveDeletion(of document: RecordID, _ own: ModelRecord, _ entry: Entry) {
    if theirs.end.covers(allOf: own.dots) {
      // The other side knew all of the document.
      delete(document, entry)
    } else if !mine.vector.covers(allOf: entry.deletions) {
      report.conflicts.append(.deletedThere(document))
      if policy == .theirs {
        delete(document, entry, byDecision: true)
      } else {
        keep(document, own, byDecision: true)
      }
    }
  }

  /// Merges a document on the other side with its deletion here.
  mutating func receive(_ document: RecordID, _ other: ModelRecord, deletedHere entry: Entry) {
    let theyKnow = theirs.end.covers(allOf: entry.deletions)
    if mine.vector.covers(allOf: other.dots) {
      if theirs.end.covers(entry.stamp) {
        // The other side kept the document for an edit that was deleted here as well. The new stamp tells it again.
        result.gone[document] = Entry(deletions: entry.deletions, stamp: mergeDot())
      }
      return
    }
    if theyKnow || policy != .mine {
      keep(document, other, byDecision: !theyKnow)
      note(.added, document)
    }
    if !theyKnow {
      report.conflicts.append(.deletedHere(document))
      if policy == .mine {
        delete(document, entry, byDecision: true)
      }
    }
  }

  /// Deletes a document with the deletions of both sides. A person's decision is one more deletion.
  mutating func delete(_ document: RecordID, _ entry: Entry, byDecision: Bool = false) {
    if result.documents.removeValue(forKey: document) != nil {
      note(.deleted, document)
    }
    let own = mine.gone[document] ?? entry
    var deletions = own.deletions.union(entry.deletions)
    if byDecision {
      deletions.insert(mergeDot())
    }
    let stamps = [own, entry].filter { $0.deletions == deletions }.map(\.stamp)
    result.gone[document] = Entry(deletions: deletions, stamp: stamps.max() ?? mergeDot())
  }

  /// Keeps a document against a deletion.
  ///
  /// The new stamp tells every other store. The stamp is also the `kept` dot, because the document that comes back can
  /// be older than what was deleted and must then stay before it. A person's decision writes the part `born`, which is
  /// an edit.
  private mutating func keep(_ document: RecordID, _ record: ModelRecord, byDecision: Bool) {
    let dot = mergeDot()
    var kept = ModelRecord(parts: record.parts, stamp: dot, kept: dot)
    if byDecision, policy == .mine || policy == .theirs {
      kept.parts[.born] = Part(.empty, dot)
    }
    result.documents[document] = kept
  }
}
