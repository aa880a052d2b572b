internal import Coffer
internal import CofferPlatform
internal import CofferTerminal

enum TextLimit {
  /// Twice a document's limit of 256 MiB: its UTF-16 is no longer than that.
  static let inputBytes = 512 << 20
}

/// One document's text in the user's editor, and back into the store.
struct TextEdit {
  enum Outcome: Equatable { case unchanged, stored }

  let id: DocumentID
  private let original: Original

  /// The document as it was when the editor began.
  private struct Original {
    let text: [UInt8]
    let title: String?
    let collection: String
  }

  init(of id: DocumentID, in reader: borrowing ReadTransaction) throws {
    self.id = id
    let header = try reader.header(of: id)
    let collection = try reader.collections().first { $0.id == header.collection }
    original = Original(
      text: try reader.withText(of: id) { Array($0.utf8) }, title: header.title,
      collection: collection?.name ?? defaultCollection)
  }

  /// Runs the editor on a file in memory, which is wiped in every case, and stores the text if it was changed.
  ///
  /// - Parameter onDisk: uses a file on disk where there is no file system in memory.
  /// - Throws: `changed-meanwhile` if the document was changed or deleted by another writer; the text is then a new
  ///   document, which the message names.
  func run(
    in store: DocumentStore, with editor: Editor, onDisk: Bool, _ diagnostics: Diagnostics
  ) throws -> Outcome {
    let outcome = try Interrupt.deferring(untilTheEnd: true) {
      // From here on a signal waits until the text is wiped.
      try Interrupt.check()
      let file = try original.text.withUnsafeBytes {
        try PrivateFile(named: "document-\(id).txt", holding: $0, allowsDisk: onDisk)
      }
      defer {
        if let left = file.wipe() {
          diagnostics.warning("\(left) could not be wiped and may still hold text: see that it is gone")
        }
      }
      return try edit(in: file, with: editor, store)
    }
    switch outcome {
    case .unchanged: return .unchanged
    case .stored: return .stored
    case .kept(let copy):
      throw Failure(
        .failed, kind: "changed-meanwhile",
        "document \(id) was changed or deleted meanwhile; your text was stored as document \(copy)",
        hint: "compare the two, and delete one: rm")
    }
  }

  private enum Stored {
    case unchanged, stored
    /// The document was changed or deleted meanwhile; the edited text was stored as a new document.
    case kept(DocumentID)
  }

  /// Runs the editor until the text is stored. After an error, a user at a terminal may edit again.
  private func edit(
    in file: PrivateFile, with editor: Editor, _ store: DocumentStore
  ) throws -> Stored {
    while true {
      try editor.run(on: file.path)
      do {
        var new = try InputFile.contents(of: file.path, limit: TextLimit.inputBytes)
        Self.dropAddedLineEnd(&new, original.text)
        guard new != original.text else { return .unchanged }
        return try put(new, into: store)
      } catch {
        guard Self.userRetries(after: Failure(error)) else {
          try Interrupt.check()
          throw error
        }
      }
    }
  }

  /// Editors end the last line as the others: takes that off where the text had no end there.
  private static func dropAddedLineEnd(_ new: inout [UInt8], _ old: [UInt8]) {
    let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
    guard old.last != lf, new.last == lf else { return }
    new.removeLast()
    if old.last != cr, new.last == cr { new.removeLast() }
  }

  private func put(_ bytes: [UInt8], into store: DocumentStore) throws -> Stored {
    guard !bytes.isEmpty else {
      throw Failure(
        .failed, kind: "empty-text", "the text is empty", hint: "rm deletes the document, put --allow-empty stores this"
      )
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure(.undecodable, kind: "undecodable", "the edited text is not UTF-8: nothing was changed")
    }
    return try store.write { writer in
      let before = try writer.exists(id) ? try writer.document(id) : nil
      guard let before, before.text.utf8.elementsEqual(original.text) else {
        let copy = Document(title: original.title, text: text, isJSON: before?.isJSON ?? false)
        let collection =
          try before == nil ? original.collection : Self.collection(of: id, in: writer) ?? original.collection
        return .kept(
          try writer.insert(copy, into: DocumentCollection(collection), at: before == nil ? .bottom : .after(id)))
      }
      // A title that was the beginning of the old text becomes the beginning of the new one; any other stays.
      let isDerived = before.title == nil || before.title == before.derivedTitle
      try writer.update(id) { document in
        document.text = text
        if isDerived { document.title = document.derivedTitle }
      }
      return .stored
    }
  }

  private static func collection(of id: DocumentID, in writer: borrowing WriteTransaction) throws -> String? {
    let number = try writer.header(of: id).collection
    return try writer.collections().first { $0.id == number }?.name
  }

  private static func userRetries(after failure: Failure) -> Bool {
    guard Terminal.standardInputIsTerminal, Terminal.standardErrorIsTerminal, failure.status != .interrupted else {
      return false
    }
    Diagnostics.print("dbtool: " + failure.message + "; Return edits again, Ctrl-D gives it up")
    return readsLine()
  }

  /// Reads a line from the terminal. `readLine()` would remember a Ctrl-D, and answer every later question by it.
  ///
  /// - Returns: false after Ctrl-D or a signal.
  private static func readsLine() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      Interrupt.waitForInput(STDIN_FILENO)
      if Interrupt.isRequested { return false }
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      if buffer[..<count].contains(UInt8(ascii: "\n")) { return true }
    }
  }
}
