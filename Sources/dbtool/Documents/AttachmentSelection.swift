internal import Coffer
internal import CofferEngine

/// Words that name attachments of a document.
struct AttachmentWords {
  let words: [String]

  /// Returns the attachments in the order of the command line, each once.
  ///
  /// - Throws: `noSuchAttachment` with the first unknown word, or `usage` if several attachments have the name.
  func existing(
    of document: DocumentHeader, in scope: borrowing some StoreReading & ~Copyable
  ) throws -> [Attachment] {
    let all = try scope.attachments(of: document.id)
    return try words.map { word -> Attachment in
      let named = all.filter { $0.name.utf8.elementsEqual(word.utf8) }
      guard named.count <= 1 else { throw Self.ambiguous(word, named, of: document.id, hint: "name one by its number") }
      if let only = named.first { return only }
      if word.first == "#", let number = Int64(word.dropFirst()),
        let found = all.first(where: { $0.id.rawValue == number })
      {
        return found
      }
      throw Failure(
        .noDocument, kind: "no-such-attachment", "document \(document.id) has no attachment \(word)",
        hint: all.isEmpty ? nil : "there are \(listed(all.map(\.name)))")
    }.unique(by: \.id)
  }

  static func ambiguous(_ name: String, _ named: [Attachment], of document: DocumentID, hint: String) -> Failure {
    let numbers = named.map { "#\($0.id)" }.joined(separator: ", ")
    return .usage("\(named.count) attachments of document \(document) have the name \(name): \(numbers)", hint: hint)
  }
}

extension AttachmentContent {
  /// Returns the contents of a file or stream, such as standard input. Reads a stream completely first.
  static func argument(_ path: String, _ progress: Progress) throws -> AttachmentContent {
    guard path == InputFile.standardInput || InputFile.isStream(path) else {
      try InputFile.requireExisting(path)
      guard !InputFile.isDirectory(path) else { throw Failure.failed("\(path) is a directory") }
      return .file(atPath: path)
    }
    var done = 0
    return try .collected { append in
      try InputFile.forEachPart(of: path) { part in
        try append(part)
        done += part.count
        progress.update(done)
      }
    }
  }
}
