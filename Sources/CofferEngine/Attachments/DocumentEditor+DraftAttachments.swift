internal import CofferRecords
internal import CofferSealing

extension DocumentEditor {
  /// Gives a document the attachments of a draft.
  ///
  /// An attachment keeps the document's attachment of the same name and content. Otherwise, it replaces another
  /// attachment of the same name, or is added. Merged documents can have several drafts with the same name. If no
  /// attachment of that name remains, the later drafts get a number.
  ///
  /// - Returns: The number of added or replaced attachments.
  /// - Throws: Errors of reading the contents, `noSuchDocument`, `invalidArgument`, `tooLarge`, `noNumberLeft`. The
  ///   document can have some of the attachments then.
  package func attach(_ drafts: [DraftAttachment], to id: DocumentID) throws(StoreError) -> Int {
    var former = FormerAttachments(given: Set(drafts.map { Array($0.name.utf8) }))
    try transaction.forEachAttachmentRecord(of: id) { former.add($0) }
    // Find equal attachments first, because a draft with other content replaces one of the remaining attachments.
    var others: [(draft: DraftAttachment, digest: TextDigest?)] = []
    for draft in drafts {
      let digest = former.mayHave(draft.name) ? try AttachmentContent(drafted: draft.content).digest() : nil
      if let digest, former.takeEqual(named: draft.name, digest) { continue }
      others.append((draft, digest))
    }
    var changed = 0
    for (draft, digest) in others {
      let content = AttachmentContent(drafted: draft.content)
      if let old = former.takeOther(named: draft.name) {
        _ = try replace(old, with: content, mediaType: draft.mediaType, date: draft.date, nil)
      } else if let name = former.newName(for: draft.name, digest) {
        _ = try add(
          content, to: id, name: name, mediaType: draft.mediaType ?? MediaType.ofFile(named: name), draft.date, nil)
      } else {
        continue
      }
      changed += 1
    }
    return changed
  }
}

/// The attachments of a document that drafts didn't take yet, and the names for more. Names are bytes, because letters
/// can be composed in several ways.
private struct FormerAttachments {
  /// The names of the drafts.
  private let given: Set<[UInt8]>
  /// The names of the document's attachments.
  private var used: Set<[UInt8]> = []
  /// The attachments with the name of a draft, in their order.
  private var named: [[UInt8]: [(id: Attachment.ID, digest: TextDigest)]] = [:]
  /// The contents of other attachments with a number, by the names without it.
  private var numbered: [[UInt8]: [TextDigest]] = [:]
  /// The number to try next for a name, because many attachments can have one name.
  private var numbers: [[UInt8]: Int] = [:]

  init(given: Set<[UInt8]>) {
    self.given = given
  }

  mutating func add(_ record: AttachmentRecord) {
    let name = Array(record.name.utf8)
    used.insert(name)
    if given.contains(name) {
      named[name, default: []].append((Attachment.ID(rawValue: record.number), record.digest))
    } else if let name = Self.withoutNumber(name) {
      numbered[name, default: []].append(record.digest)
    }
  }

  /// Returns `false` if no attachment has the name, with or without a number.
  func mayHave(_ name: String) -> Bool {
    let name = Array(name.utf8)
    return named[name] != nil || numbered[name] != nil
  }

  /// Takes the attachment with a name and content, or returns `false` if it doesn't exist.
  mutating func takeEqual(named name: String, _ digest: TextDigest) -> Bool {
    let name = Array(name.utf8)
    guard let index = named[name]?.firstIndex(where: { $0.digest == digest }) else { return false }
    named[name]?.remove(at: index)
    return true
  }

  /// Takes the first attachment with a name, or returns `nil` if it doesn't exist.
  mutating func takeOther(named name: String) -> Attachment.ID? {
    let name = Array(name.utf8)
    guard let first = named[name]?.first else { return nil }
    named[name]?.removeFirst()
    return first.id
  }

  /// Returns the name, or the name with a number before its extension if it's used. Returns `nil` if an attachment with
  /// such a number has the content.
  mutating func newName(for name: String, _ digest: TextDigest?) -> String? {
    let bytes = Array(name.utf8)
    if used.insert(bytes).inserted { return name }
    if let digest, let index = numbered[bytes]?.firstIndex(of: digest) {
      numbered[bytes]?.remove(at: index)
      return nil
    }
    let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > name.startIndex ? $0 : nil } ?? name.endIndex
    while true {
      let number = numbers[bytes, default: 2]
      numbers[bytes] = number + 1
      let other = "\(name[..<dot])-\(number)\(name[dot...])"
      let otherBytes = Array(other.utf8)
      if !given.contains(otherBytes), used.insert(otherBytes).inserted { return other }
    }
  }

  /// Returns the name to which ``newName(for:_:)`` added a number, or `nil` for other names.
  private static func withoutNumber(_ name: [UInt8]) -> [UInt8]? {
    let dot = name.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > 0 ? $0 : nil } ?? name.endIndex
    guard let dash = name[..<dot].lastIndex(of: UInt8(ascii: "-")), dash > 0 else { return nil }
    let digits = String(decoding: name[(dash + 1)..<dot], as: UTF8.self)
    guard let number = Int(digits), number >= 2, digits == "\(number)" else { return nil }
    return Array(name[..<dash] + name[dot...])
  }
}

extension AttachmentContent {
  /// Reads the content, and returns its SHA-256.
  fileprivate func digest() throws(StoreError) -> TextDigest {
    let hasher = try translatingErrors { () throws(SealingError) in
      let hasher = try TextHasher()
      try hasher.begin()
      return hasher
    }
    _ = try expectingStoreErrors {
      try forEachPart(nil) { part throws(StoreError) in
        try translatingErrors { () throws(SealingError) in try hasher.update(part) }
      }
    }
    return try translatingErrors { () throws(SealingError) in try hasher.finish() }
  }
}
