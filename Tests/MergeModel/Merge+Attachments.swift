extension Merge {
  /// Gives each document the attachments of both sides, except those that either side removed.
  mutating func mergeAttachments() {
    for document in result.documents.keys {
      let own = mine.documents[document]?.attachments ?? [:]
      let other = theirs.attachments[document]
      let joined = own.merging(other ?? [:]) { one, other in
        ModelAttachment(
          born: max(one.born, other.born), name: one.name.dot < other.name.dot ? other.name : one.name,
          content: one.content)
      }.filter { result.gone[$0.key] == nil }
      result.documents[document]!.attachments = joined
      guard mine.documents[document] != nil, let other else { continue }
      let isUntold = joined.contains { id, attachment in
        guard let theirs = other[id] else { return self.theirs.end.covers(allOf: attachment.dots) }
        return theirs.born != attachment.born && self.theirs.end.covers(attachment.born)
          || theirs.name.dot != attachment.name.dot && self.theirs.end.covers(attachment.name.dot)
      }
      // The other side lost an attachment with its document, which came back without it. The new stamp tells it.
      guard isUntold else { continue }
      let dot = mergeDot()
      result.documents[document]!.stamp = dot
    }
  }
}
