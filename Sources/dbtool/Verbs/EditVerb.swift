internal import ArgumentParser
internal import Coffer
internal import Glibc

/// `edit STORE ID`: a text in the user's editor.
struct EditVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Edit a text in your editor.",
    discussion: """
      Opens $VISUAL, else $EDITOR, on a file in memory (XDG_RUNTIME_DIR, /dev/shm) that only you can read, and wipes \
      it after. Writes nothing when the text is unchanged or the editor fails. A line end that the editor adds to a \
      text that had none is removed again. If another user or process changed or deleted the document meanwhile, your \
      text becomes a new document behind it (exit code 1).

        dbtool edit texts.coffer 17
        EDITOR='code --wait' dbtool edit texts.coffer -c notes --key-name n-42
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Documents") var choice: DocumentChoice

  @Flag(help: "If there is no file system in memory, edit in a temporary file on disk.")
  var onDisk = false

  func run() throws {
    let editor = try Editor()
    let store = try options.open(readOnly: false)
    let (id, original) = try store.read { reader in
      let header = try choice.header(in: reader, of: store)
      let collection = try reader.collections().first { $0.id == header.collection }
      return (
        header.id,
        Original(
          text: try reader.withText(of: header.id) { Array($0.utf8) }, title: header.title,
          collection: collection?.name ?? defaultCollection)
      )
    }
    let outcome = try Interrupt.deferring(untilTheEnd: true) {
      // From here on a signal waits until the text is wiped.
      try Interrupt.check()
      let file = try original.text.withUnsafeBytes {
        try PrivateFile(named: "document-\(id).txt", holding: $0, allowsDisk: onDisk)
      }
      defer {
        if let left = file.wipe() {
          options.common.diagnostics.warning("\(left) could not be wiped and may still hold text: see that it is gone")
        }
      }
      return try edit(id, original, in: file, with: editor, store)
    }
    try store.close()
    if case .kept(let copy) = outcome {
      throw Failure(
        .failed, kind: "changed-meanwhile",
        "document \(id) was changed or deleted meanwhile; your text was stored as document \(copy)",
        hint: "compare the two, and delete one: rm")
    }
    let isChanged = outcome == .stored
    if options.common.isMachineReadable {
      try Report([("id", .integer(id.rawValue)), ("changed", .bool(isChanged))]).print(as: options.common.listFormat)
    } else {
      options.common.diagnostics.note("document \(id) \(isChanged ? "stored" : "is unchanged")")
    }
  }

  /// The document as it was when the editor began.
  private struct Original {
    let text: [UInt8]
    let title: String?
    let collection: String
  }

  private enum EditOutcome: Equatable {
    case unchanged, stored
    /// The document was changed or deleted meanwhile; the edited text was stored as a new document.
    case kept(DocumentID)
  }

  /// Runs the editor until the text is stored. After an error, a user at a terminal may edit again.
  private func edit(
    _ id: DocumentID, _ original: Original, in file: PrivateFile, with editor: Editor, _ store: DocumentStore
  ) throws -> EditOutcome {
    while true {
      try editor.run(on: file.path)
      do {
        var new = try InputFile.contents(of: file.path, limit: TextLimit.inputBytes)
        Self.dropAddedLineEnd(&new, original.text)
        guard new != original.text else { return .unchanged }
        return try Self.store(new, in: id, insteadOf: original, store)
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

  private static func store(
    _ bytes: [UInt8], in id: DocumentID, insteadOf original: Original, _ store: DocumentStore
  ) throws -> EditOutcome {
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
        let collection = try before == nil ? original.collection : collection(of: id, in: writer) ?? original.collection
        return .kept(
          try writer.insert(copy, into: store.collection(collection), at: before == nil ? .bottom : .after(id)))
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

  private static func collection(of id: DocumentID, in writer: borrowing StoreWriter) throws -> String? {
    let number = try writer.header(of: id).collection
    return try writer.collections().first { $0.id == number }?.name
  }

  private static func userRetries(after failure: Failure) -> Bool {
    guard Terminal.standardInputIsTerminal, Terminal.standardErrorIsTerminal, failure.status != .interrupted else {
      return false
    }
    Diagnostics.print("dbtool: " + failure.message + "; Return edits again, Ctrl-D gives it up")
    Interrupt.waitForInput(Glibc.STDIN_FILENO)
    return !Interrupt.isRequested && readLine() != nil
  }
}
