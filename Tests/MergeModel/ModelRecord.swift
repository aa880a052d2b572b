/// The stored state of a document or a collection.
public struct ModelRecord: Hashable, Sendable {
  public internal(set) var parts: [PartName: Part]
  /// The commit that made exactly this state. A vector that covers the stamp has this state or a later one.
  public internal(set) var stamp: Dot
  /// The commit that kept the record against a deletion, or accepted the other side's content. Nearly always `never`.
  public internal(set) var kept: Dot
  /// The files that belong to a document, by their identities.
  public internal(set) var attachments: [RecordID: ModelAttachment] = [:]

  init(parts: [PartName: Part], stamp: Dot, kept: Dot = .never) {
    self.parts = parts
    self.stamp = stamp
    self.kept = kept
  }

  /// The dots of all parts and attachments.
  public var dots: [Dot] {
    parts.values.map(\.dot) + attachments.values.flatMap(\.dots)
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

  /// Whether the text is a value, which in the model is a text with a brace at its start.
  var hasValue: Bool { self[.text].string?.first == "{" }

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

/// A file that belongs to a document. Its content never changes.
public struct ModelAttachment: Hashable, Sendable {
  public internal(set) var born: Dot
  public internal(set) var name: Part
  public let content: String

  init(born: Dot, name: Part, content: String) {
    self.born = born
    self.name = name
    self.content = content
  }

  public var dots: [Dot] { [born, name.dot] }
}

/// What remains of a deleted document, or of a removed attachment.
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
