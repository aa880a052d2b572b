/// The stored state of a document or a collection.
public struct ModelRecord: Hashable, Sendable {
  public internal(set) var parts: [PartName: Part]
  /// The commit that made exactly this state. A vector that covers the stamp has this state or a later one.
  public internal(set) var stamp: Dot
  /// The commit that kept the record against a deletion, or accepted the other side's content. Nearly always `never`.
  public internal(set) var kept: Dot

  init(parts: [PartName: Part], stamp: Dot, kept: Dot = .never) {
    self.parts = parts
    self.stamp = stamp
    self.kept = kept
  }

  /// The dots of all parts.
  public var dots: [Dot] {
    parts.values.map(\.dot)
  }

  /// The value of a part. A part that the record does not have is empty.
  public subscript(name: PartName) -> PartValue {
    parts[name, default: .unset].value
  }

  /// The text of a document.
  public var text: String {
    guard let text = self[.text].string else {
      preconditionFailure("Every document has a text.")
    }
    return text
  }

  /// The place of a document.
  public var place: Place {
    guard case .place(let place) = self[.place] else {
      preconditionFailure("Every document has a place.")
    }
    return place
  }

  /// The key as it is stored in a document. See `ModelStore.keys` for the document that holds a key.
  public var key: String? {
    self[.key].string
  }
}

/// What remains of a deleted document.
public struct Entry: Hashable, Sendable {
  /// The commits that deleted the document.
  public internal(set) var deletions: Set<Dot>
  /// The commit that made exactly this state.
  public internal(set) var stamp: Dot

  init(deletions: Set<Dot>, stamp: Dot) {
    self.deletions = deletions
    self.stamp = stamp
  }
}
