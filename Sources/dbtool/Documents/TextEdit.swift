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
  /// The store's path, for messages.
  private let path: String
  private let original: Original

  /// The document as it was when the editor began.
  private struct Original {
    let text: [UInt8]
    let title: String?
    /// Whether the title is the beginning of the text.
    let isDerived: Bool
    let collection: String
  }

  /// - Parameter path: the store's path, for messages.
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

  /// Runs the editor on a file in memory, and stores the text if it was changed. The file is wiped after. If a changed
  /// text can't be stored, and the user doesn't give it up, the file is kept and the error names it.
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

  /// The user was told of a failure, and gave up the text.
  private struct GivenUp: Error {
    let failure: Failure
  }

  /// Keeps the file if its text was changed, and returns the failure with the way to store the text.
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
      // A title that was the beginning of the old text becomes the beginning of the new one; any other stays.
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

  /// - Returns: nil without a terminal, and after a signal.
  private static func answer(to failure: Failure) -> Answer? {
    guard Terminal.standardInputIsTerminal, Terminal.standardErrorIsTerminal, failure.status != .interrupted else {
      return nil
    }
    Diagnostics.print("dbtool: " + failure.message + "; Return edits again, Ctrl-D gives it up")
    if readsLine() { return .retry }
    return Interrupt.isRequested ? nil : .giveUp
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
