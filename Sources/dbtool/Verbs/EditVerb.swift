internal import ArgumentParser
internal import Coffer

/// `edit STORE ID`: opens a text in the user's editor.
struct EditVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Edit a text in your editor, or change its title and attributes.",
    discussion: """
      Opens $VISUAL, or else $EDITOR, on a file in memory (XDG_RUNTIME_DIR, /dev/shm) that only you can read, and then \
      wipes the file. Doesn't write if the text is unchanged or the editor fails. If a changed text can't be stored, \
      it remains in memory, and the error contains its location. If the editor adds a line end to a text without one, \
      it is removed. If another user or process changes or deletes the document during the edit, your text becomes a \
      new document after it (exit code 1).

      With --set-title, --attr or --remove-attr, the editor doesn't open, and the text remains unchanged.

        dbtool edit texts.coffer 17
        EDITOR='code --wait' dbtool edit texts.coffer n-42
        dbtool edit texts.coffer Plan --set-title "New plan" --attr state=done --attr stars:=3
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Documents") var choice: DocumentChoice

  @Flag(help: "Edit in a temporary file on disk if a file system in memory isn't available.")
  var onDisk = false

  @Option(parsing: .unconditional, help: ArgumentHelp("Set the title without an editor.", valueName: "text"))
  var setTitle: String?

  @Option(
    name: .customLong("attr"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Set an attribute to text, or to JSON with := (repeatable).", valueName: "name=value"))
  var attributes: [AttributeArgument] = []

  @Option(
    name: .customLong("remove-attr"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Remove an attribute (repeatable).", valueName: "name"))
  var removed: [String] = []

  func validate() throws {
    if onDisk, changesHeader {
      throw ValidationError("--on-disk is for an editor, which --set-title and --attr don't open")
    }
  }

  private var changesHeader: Bool { setTitle != nil || !attributes.isEmpty || !removed.isEmpty }

  func run() throws {
    if changesHeader { return try changeHeader() }
    let editor = try Editor()
    let store = try options.open(readOnly: false)
    let edit = try store.read { reader in
      try TextEdit(of: choice.header(in: reader, of: store).id, in: reader, at: options.store.path)
    }
    let outcome = try edit.run(in: store, with: editor, onDisk: onDisk, options.common.diagnostics)
    try store.close()
    try report(edit.id, isChanged: outcome == .stored)
  }

  private func changeHeader() throws {
    let store = try options.open(readOnly: false)
    if setTitle != nil { try options.requireTitles(of: store, for: "--set-title") }
    let (id, isChanged) = try store.write { writer in
      let header = try choice.header(in: writer, of: store)
      let attributes = try attributes.applied(to: header.attributes, removing: removed)
      let title = setTitle ?? header.title
      // Titles that differ only in composition are equal as Strings.
      let isChanged =
        title.map { Array($0.utf8) } != header.title.map { Array($0.utf8) } || attributes != header.attributes
      if isChanged {
        try writer.update(header.id) { document in
          document.title = title
          document.attributes = attributes
        }
      }
      return (header.id, isChanged)
    }
    try store.close()
    try report(id, isChanged: isChanged)
  }

  private func report(_ id: DocumentID, isChanged: Bool) throws {
    if options.common.isMachineReadable {
      try Report([("id", .integer(id.rawValue)), ("changed", .bool(isChanged))]).print(as: options.common.listFormat)
    } else {
      options.common.diagnostics.note("document \(id) \(isChanged ? "stored" : "is unchanged")")
    }
  }
}
