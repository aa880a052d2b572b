extension Merge {
  private enum Side {
    case mine, theirs
  }

  /// Returns the state of a record that both sides have, merged part by part.
  ///
  /// The content that the other side did not know stays. Of two contents that were written without knowing each other,
  /// the one with the greater dot stays, with its own dot. A person who insists on their own content makes an edit; a
  /// person who accepts the other side's content takes it with its own dot.
  mutating func joined(
    _ id: RecordID, _ own: ModelRecord, _ other: ModelRecord, isDocument: Bool
  ) throws(ModelError) -> ModelRecord {
    var parts: [PartName: Part] = [:]
    var accepted = false
    var textSide = Side.mine
    for name in Set(own.parts.keys).union(other.parts.keys).sorted() {
      let ownPart = own.parts[name, default: .unset]
      let otherPart = other.parts[name, default: .unset]
      if ownPart.dot == otherPart.dot, ownPart.value != otherPart.value, ownPart.dot != .never {
        throw .cloned(ownPart.dot.replica)
      }
      // A value's schema version describes its text. The text is joined before all attributes.
      if isDocument, name == .schema, own.hasValue || other.hasValue, own.parts[.text]?.dot != other.parts[.text]?.dot {
        parts[name] = textSide == .mine ? ownPart : otherPart
        continue
      }
      let iKnow = mine.vector.covers(otherPart.dot)
      let theyKnow = theirs.end.covers(ownPart.dot)
      let side: Side
      if iKnow != theyKnow {
        side = iKnow ? .mine : .theirs
      } else if iKnow {
        // The parts are the same, or one came back over the other when a deletion was undone.
        let theirsIsGreater =
          (own.kept, ownPart.dot, ownPart.value) < (other.kept, otherPart.dot, otherPart.value)
        side = theirsIsGreater ? .theirs : .mine
      } else {
        side = ownPart.dot < otherPart.dot ? .theirs : .mine
      }
      parts[name] = side == .mine ? ownPart : otherPart
      if name == .text { textSide = side }
      if iKnow != theyKnow || ownPart.value == otherPart.value { continue }

      if isDocument, name == .text, iKnow || policy == .both || policy == .fail {
        let (record, text) = side == .mine ? (other, otherPart) : (own, ownPart)
        lostTexts.append(LostText(document: id, record: record, text: text))
      }
      if iKnow { continue }
      report.conflicts.append(.bothChanged(id, name, mine: ownPart, theirs: otherPart))
      if name == .text, policy == .mine || policy == .theirs { textSide = policy == .mine ? .mine : .theirs }
      if policy == .mine {
        parts[name] = Part(ownPart.value, mergeDot())
      } else if policy == .theirs, !isDocument {
        // A collection has no `kept`, so the choice is an edit.
        parts[name] = Part(otherPart.value, mergeDot())
      } else if policy == .theirs {
        parts[name] = otherPart
        accepted = true
      }
    }
    // A member that neither side has and nobody removed is none.
    parts = parts.filter { name, part in
      if case .attribute = name { part != .unset } else { true }
    }
    if parts != own.parts {
      note(.changed, id)
    }
    // Each side may have kept the document against a deletion that the other one doesn't know yet. Only a new dot tells
    // the others that the result outlives both.
    let areKeptApart = !mine.vector.covers(other.kept) && !theirs.end.covers(own.kept) && own.kept != other.kept
    let kept = accepted || areKeptApart ? mergeDot() : max(own.kept, other.kept)
    let stamps = [own, other].filter { $0.parts == parts && $0.kept == kept }.map(\.stamp)
    return ModelRecord(parts: parts, stamp: stamps.max() ?? mergeDot(), kept: kept)
  }
}
