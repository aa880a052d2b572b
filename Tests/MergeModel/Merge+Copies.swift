extension Merge {
  /// Makes a document of its own from a text that lost, behind the document that it belonged to.
  ///
  /// The text keeps its dot, so every replica makes the same document, and a person who deletes it deletes it for all.
  /// The other parts have no dot until somebody changes them. If somebody has changed the text of that document while the
  /// text was the first document's own again, another document follows it.
  mutating func keepBeside(_ lost: LostText) {
    var copy = mine.copyIdentity(lost.document, lost.text.dot)
    while let known = result.documents[copy], known.parts[.text]?.dot != lost.text.dot {
      copy = mine.copyIdentity(copy, lost.text.dot)
    }
    guard result.documents[copy] == nil else { return }
    var place = (result.documents[lost.document] ?? lost.record).place
    place.position = place.position.appending(Level(number: 0, tag: UInt32(copy.high >> 40), count: 0))
    var parts = lost.record.parts.mapValues { Part($0.value, .never) }
    // A copy that was deleted comes back where its text had become the document's own again.
    // A removed member is none in the copy.
    parts = parts.filter { name, part in
      if case .attribute = name { part != .unset } else { true }
    }
    parts[.born] = Part(.empty, result.gone[copy] == nil ? lost.text.dot : mergeDot())
    parts[.text] = lost.text
    parts[.key] = .unset
    parts[.place] = Part(.place(place), .never)
    result.documents[copy] = ModelRecord(parts: parts, stamp: mergeDot())
    note(.copied, copy)
  }
}
