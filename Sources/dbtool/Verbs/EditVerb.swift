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
      it after. A text that was not changed is not written, and neither is one when the editor fails. A line end that \
      the editor puts behind a text that had none is taken off again.

        dbtool edit texts.coffer 17
        EDITOR='code --wait' dbtool edit texts.coffer -c notes --key-name n-42
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Documents") var selection: DocumentSelection

  @Flag(help: "Where there is no file system in memory, edit in a temporary file on disk.")
  var onDisk = false

  func validate() throws {
    if selection.ids.count > 1 { throw ValidationError("'edit' takes one document") }
  }

  func run() throws {
    let editor = try Editor()
    let store = try options.open(readOnly: false)
    let (id, text) = try store.read { reader in
      let id = try selection.existing(in: reader, of: store)[0].id
      return (id, try reader.withText(of: id) { Array($0.utf8) })
    }
    let isChanged = try Interrupt.deferring(untilTheEnd: true) {
      // From here on a signal waits until the text is wiped.
      try Interrupt.check()
      let file = try text.withUnsafeBytes {
        try PrivateFile(named: "document-\(id).txt", holding: $0, allowsDisk: onDisk)
      }
      defer {
        if let left = file.wipe() {
          options.common.diagnostics.warning("\(left) could not be wiped and may still hold text: see that it is gone")
        }
      }
      return try edit(id, text, in: file, with: editor, store)
    }
    try store.close()
    if options.common.isMachineReadable {
      try Report([("id", .integer(id.rawValue)), ("changed", .bool(isChanged))]).print(as: options.common.listFormat)
    } else {
      options.common.diagnostics.note("document \(id) \(isChanged ? "stored" : "is unchanged")")
    }
  }

  /// Until the text can be stored; a person who sees why it can't may go on.
  ///
  /// - Returns: whether it was changed.
  private func edit(
    _ id: DocumentID, _ old: [UInt8], in file: PrivateFile, with editor: Editor, _ store: DocumentStore
  ) throws -> Bool {
    while true {
      try editor.run(on: file.path)
      do {
        var new = try InputFile.contents(of: file.path, limit: TextLimit.inputBytes)
        Self.dropAddedLineEnd(&new, old)
        guard new != old else { return false }
        try Self.store(new, in: id, insteadOf: old, store)
        return true
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
    _ bytes: [UInt8], in id: DocumentID, insteadOf old: [UInt8], _ store: DocumentStore
  ) throws {
    guard !bytes.isEmpty else {
      throw Failure(
        .failed, kind: "empty-text", "the text is empty", hint: "rm deletes the document, put --allow-empty stores this"
      )
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure(.undecodable, kind: "undecodable", "the edited text is not UTF-8: nothing was changed")
    }
    try store.write { writer in
      let before = try writer.document(id)
      guard before.text.utf8.elementsEqual(old) else {
        throw Failure(
          .failed, kind: "changed-meanwhile", "document \(id) was changed by somebody else meanwhile: it was left so")
      }
      // A title that was the beginning of the old text becomes the beginning of the new one; any other stays.
      let isDerived = before.title == nil || before.title == before.derivedTitle
      try writer.update(id) { document in
        document.text = text
        if isDerived { document.title = document.derivedTitle }
      }
    }
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
