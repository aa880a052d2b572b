internal import ArgumentParser
internal import Coffer

/// `edit STORE ID`: a text in the user's editor.
struct EditVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Edit a text in your editor.",
    discussion: """
      Opens $VISUAL, else $EDITOR, on a file in memory (XDG_RUNTIME_DIR, /dev/shm) that only you can read, and wipes \
      it after. Writes nothing when the text is unchanged or the editor fails. A changed text that can't be stored stays \
      in memory, and the error says where. A line end that the editor adds to a text that had none is removed again. If \
      another user or process changed or deleted the document meanwhile, your text becomes a new document behind it \
      (exit code 1).

        dbtool edit texts.coffer 17
        EDITOR='code --wait' dbtool edit texts.coffer n-42
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Documents") var choice: DocumentChoice

  @Flag(help: "If there is no file system in memory, edit in a temporary file on disk.")
  var onDisk = false

  func run() throws {
    let editor = try Editor()
    let store = try options.open(readOnly: false)
    let edit = try store.read { reader in
      try TextEdit(of: choice.header(in: reader, of: store).id, in: reader, at: options.store.path)
    }
    let outcome = try edit.run(in: store, with: editor, onDisk: onDisk, options.common.diagnostics)
    try store.close()
    let isChanged = outcome == .stored
    if options.common.isMachineReadable {
      try Report([("id", .integer(edit.id.rawValue)), ("changed", .bool(isChanged))]).print(
        as: options.common.listFormat)
    } else {
      options.common.diagnostics.note("document \(edit.id) \(isChanged ? "stored" : "is unchanged")")
    }
  }
}
