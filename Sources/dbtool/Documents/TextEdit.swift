internal import Coffer
internal import CofferPlatform
internal import CofferTerminal

enum TextLimit {
  /// Twice a document's limit of 256 MiB, because its UTF-16 can be twice as long.
  static let inputBytes = 512 << 20
}

/// Edits one document's text in the user's editor, and stores the result.
struct TextEdit {
  enum Outcome: Equatable { case unchanged, stored }

  let id: DocumentID
  /// The store's path, for messages.
  private let path: String
  private let original: Original

  /// The document when the editor started.
  private struct Original {
    let text: [UInt8]
    let title: String?
    /// A Boolean value that indicates whether the title is the beginning of the text.
    let isDerived: Bool
    let collection: String
  }

  /// - Parameter path: The store's path, for messages.
  init(of id: DocumentID, in reader: borrowing ReadTransaction, at path: String) throws {
    self.id = id
    self.path = path
    let document = try reader.document(id)
    let header = try reader.header(of: id)
    let collection = try reader.collectionNames().first { $0.id == header.collection }
    original = Original(
      text: Array(document.text.utf8), title: document.title,
      isDerived: document.title == nil || document.title.isIdentical(to: document.derivedTitle),
      collection: collection?.name ?? defaultCollection)
  }

  /// Runs the editor on a file in memory, stores a changed text, and then wipes the file. If a changed text can't be
  /// stored and the user doesn't discard it, keeps the file and names it in the error.
  ///
  /// - Parameter onDisk: Whether to use a file on disk if a file system in memory isn't available.
  /// - Throws: `changed-meanwhile` if another writer changed or deleted the document. The text is then in a new
  ///   document, which the message names.
  func run(
    in store: DocumentStore, with editor: Editor, onDisk: Bool, _ diagnostics: Diagnostics
  ) throws -> Outcome {
    let outcome = try Interrupt.deferring(untilTheEnd: true) {
      // From here on, a signal waits until the text is wiped.
      try Interrupt.check()
      let file = try original.text.withUnsafeBytes {
        try PrivateFile(named: "document-\(id).txt", holding: $0, allowsDisk: onDisk)
      }
      defer {
        if let left = file.wipe() {
          diagnostics.warning("\(left) could not be wiped and may still hold text: see that it is gone")
        }
      }
      do {
        return try edit(in: file, with: editor, store)
      } catch let error as GivenUp {
        throw error.failure
      } catch {
        throw keeping(file, after: Failure(error))
      }
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

  /// The failure after which the user discarded the text.
  private struct GivenUp: Error {
    let failure: Failure
  }

  /// Keeps the file if its text was changed, and returns the failure with instructions for storing the text.
  private func keeping(_ file: PrivateFile, after failure: Failure) -> Failure {
    guard var text = try? InputFile.contents(of: file.path, limit: TextLimit.inputBytes), !text.isEmpty else {
      return failure
    }
    Self.dropAddedLineEnd(&text, original.text)
    guard text != original.text else { return failure }
    let kept = file.keep()
    let place = file.isInMemory ? "in memory, until a restart or the end of the session" : "on disk"
    let (store, words) = (Shell.quoted(path: path), Shell.quoted(path: kept))
    let folder = Shell.quoted(path: String(OutputFile.folder(of: kept).dropLast()))
    return Failure(
      failure.status, kind: failure.kind, "\(failure.message); your text is in \(kept) (\(place))",
      hint: "store it with: dbtool put --store \(store) --id \(id) \(words); then delete it: rm -r \(folder)")
  }

  private enum Stored {
    case unchanged, stored
    /// The document was changed or deleted during the edit, so the edited text was stored as a new document.
    case kept(DocumentID)
  }

  /// Runs the editor until the text is stored. After an error, a user at a terminal can continue editing.
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
        switch Self.answer(to: Failure(error)) {
        case .retry: continue
        case .giveUp: throw GivenUp(failure: Failure(error))
        case nil:
          try Interrupt.check()
          throw error
        }
      }
    }
  }

  /// Removes a line end that the editor added to the last line if the old text didn't end with a line end.
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
      throw Failure(
        .undecodable, kind: "undecodable", "the edited text is not UTF-8: nothing was changed",
        hint: "have the editor save UTF-8")
    }
    return try store.write { writer in
      let before = try writer.exists(id) ? try writer.document(id) : nil
      guard let before, before.text.utf8.elementsEqual(original.text) else {
        var copy = Document(title: original.title, text: text, isJSON: before?.isJSON ?? false)
        if original.isDerived { copy.title = copy.derivedTitle }
        let collection =
          try before == nil ? original.collection : Self.collection(of: id, in: writer) ?? original.collection
        return .kept(
          try writer.insert(copy, into: DocumentCollection(collection), at: before == nil ? .bottom : .after(id)))
      }
      if before.isJSON { try ValueText.require(text, for: id) }
      // Update a title that was derived from the old text, and keep any other title.
      let isDerived = before.title == nil || before.title.isIdentical(to: before.derivedTitle)
      try writer.update(id) { document in
        document.text = text
        if isDerived { document.title = document.derivedTitle }
      }
      return .stored
    }
  }

  private static func collection(of id: DocumentID, in writer: borrowing WriteTransaction) throws -> String? {
    let number = try writer.header(of: id).collection
    return try writer.collectionNames().first { $0.id == number }?.name
  }

  private enum Answer { case retry, giveUp }

  /// - Returns: The answer, or `nil` without a terminal or after a signal.
  private static func answer(to failure: Failure) -> Answer? {
    guard Terminal.standardInputIsTerminal, Terminal.standardErrorIsTerminal, failure.status != .interrupted else {
      return nil
    }
    Diagnostics.print("dbtool: " + failure.message + "; Return edits again, Ctrl-D gives it up")
    if readsLine() { return .retry }
    return Interrupt.isRequested ? nil : .giveUp
  }

  /// Reads a line from the terminal. Doesn't use `readLine()`, because after Ctrl-D it would end every later question.
  ///
  /// - Returns: `false` after Ctrl-D or a signal.
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
