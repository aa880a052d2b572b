internal import Coffer
internal import Foundation

/// The content of an attachment, which its length and a seed determine.
struct Content {
  let count: Int
  let seed: UInt64

  var bytes: [UInt8] {
    var state = seed
    return (0..<count).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 56)
    }
  }

  var description: String { "\(count) \(seed)" }
}

extension App {
  private static let names = ["@photo", "@scan", "@sound"]

  /// The media type says which content it is, so that a read can compare it.
  private static func requireSound(_ content: [UInt8], _ mediaType: String) throws {
    let words = mediaType.split(separator: "/").compactMap { UInt64($0) }
    guard words.count == 2, content == Content(count: Int(words[0]), seed: words[1]).bytes else {
      throw Difference("the content of an attachment")
    }
  }

  /// Attaches, replaces, renames or removes an attachment, and returns the members that this sets.
  static func attach(_ kind: Int, _ value: Note3, to id: DocumentID, _ tx: borrowing WriteTransaction) throws
    -> [String: Any]
  {
    let name = names[kind % names.count]
    let old = try tx.attachment(named: name, of: id)
    if let old {
      let other = names[(kind + 1) % names.count]
      if kind.isMultiple(of: 4), try tx.attachment(named: other, of: id) == nil {
        try tx.rename(old.id, to: other)
        return [name: NSNull(), other: old.mediaType]
      }
      try tx.detach(old.id)
      guard kind.isMultiple(of: 2) else { return [name: NSNull()] }
    }
    // Every tenth one takes several chunks, and the others are as long as a text.
    let length = value.body.utf8.count
    let content = Content(count: length % 10 == 0 ? 700 * length : length, seed: UInt64(kind) &* 7919 &+ UInt64(length))
    let type = "\(content.count)/\(content.seed)"
    try tx.attach(content.bytes, to: id, name: name, type: type)
    return [name: type]
  }

  /// Reads the attachments of a document, and compares their contents.
  static func compareAttachments(of id: DocumentID, _ tx: borrowing ReadTransaction) throws -> [String: String] {
    var found: [String: String] = [:]
    for attachment in try tx.attachments(of: id) {
      try requireSound(try tx.content(of: attachment.id), attachment.mediaType)
      found[attachment.name] = attachment.mediaType
    }
    return found
  }

  static func printAttachments(_ url: URL, _ key: StoreKey) throws {
    var release = releases - 1
    try start(url, key, &release, .nullDevice).read { tx in
      for header in try tx.headers(in: notes) {
        let found = try compareAttachments(of: header.id, tx)
        guard !found.isEmpty, let key = header.key else { continue }
        let line = try JSONSerialization.data(
          withJSONObject: ["key": key.text ?? "", "attachments": found] as [String: Any])
        FileHandle.standardOutput.write(line + [0x0A])
      }
    }
  }
}
