internal import CofferRecords
internal import CofferSealing

extension DocumentEditor {
  /// Gives a document the attachments of a draft.
  ///
  /// An attachment replaces the document's attachment of the same name if their contents differ, and keeps it otherwise.
  /// Of several drafts with one name, which merged documents can have, the later ones get a number.
  ///
  /// - Returns: The number of attachments that were added or replaced.
  /// - Throws: Errors of reading the contents, `noSuchDocument`, `invalidArgument`, `tooLarge`, `noNumberLeft`. The
  ///   document can have some of the attachments then.
  package func attach(_ drafts: [DraftAttachment], to id: DocumentID) throws(StoreError) -> Int {
    var former: [String: (id: Attachment.ID, digest: TextDigest)] = [:]
    try transaction.forEachAttachmentRecord(of: id) {
      if former[$0.name] == nil {
        former[$0.name] = (Attachment.ID(rawValue: $0.number), $0.digest)
      }
    }
    var names = UniqueNames()
    var changed = 0
    for draft in drafts {
      let content = AttachmentContent(drafted: draft.content)
      let name = names.unused(draft.name)
      if let old = former[name] {
        guard try content.digest() != old.digest else { continue }
        _ = try replace(old.id, with: content, mediaType: draft.mediaType, date: draft.date, nil)
      } else {
        _ = try add(
          content, to: id, name: name, mediaType: draft.mediaType ?? MediaType.ofFile(named: name), draft.date, nil)
      }
      changed += 1
    }
    return changed
  }
}

/// Names that get numbers, so that each is given once.
private struct UniqueNames {
  private var taken: Set<String> = []
  /// The number to try next for a name, because many attachments can have one name.
  private var numbers: [String: Int] = [:]

  /// Returns the name, or the name with a number before its extension if it's taken.
  mutating func unused(_ name: String) -> String {
    if taken.insert(name).inserted { return name }
    let dot = name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? $0 : nil } ?? name.endIndex
    while true {
      let number = numbers[name, default: 2]
      numbers[name] = number + 1
      let other = "\(name[..<dot])-\(number)\(name[dot...])"
      if taken.insert(other).inserted { return other }
    }
  }
}

extension AttachmentContent {
  /// Returns the SHA-256 of the content, which is read for it.
  fileprivate func digest() throws(StoreError) -> TextDigest {
    let hasher = try translatingErrors { () throws(SealingError) in
      let hasher = try TextHasher()
      try hasher.begin()
      return hasher
    }
    do {
      _ = try forEachPart(nil) { part throws(StoreError) in
        try translatingErrors { () throws(SealingError) in try hasher.update(part) }
      }
    } catch {
      guard let error = error as? StoreError else {
        preconditionFailure("internal error: reading a content threw \(type(of: error))")
      }
      throw error
    }
    return try translatingErrors { () throws(SealingError) in try hasher.finish() }
  }
}
