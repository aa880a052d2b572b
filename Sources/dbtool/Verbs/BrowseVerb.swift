internal import ArgumentParser
internal import Coffer
internal import CofferBrowser
internal import CofferEngine
internal import CofferPlatform
internal import CofferTerminal

/// `browse STORE`: shows a store on the whole terminal.
struct BrowseVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "browse",
    abstract: "Browse a store on the whole terminal.",
    discussion: """
      Shows the collections, the titles of a collection, and next to them the text of the selected document. Keys are \
      as in less. Press h to list them:

        j k Space b d u g G   move a line, a page, half a page, to the ends
        Return  Tab           open the collection or text; go back
        q  Q                  go back or quit; quit immediately
        & and letters         show only titles that contain the letters
        / and words, Return   show only documents that contain the words
        n  N                  go to the next or previous hit of the words
        s and a letter        sort; a capital letter reverses the order
        =  v                  show the document's facts; edit its text

      Listing, filtering and sorting don't open texts. The selected document is opened when it is shown. v runs your \
      editor like 'edit'. Changes by other programs appear immediately. While another program locks the store, keys \
      still work. The browser doesn't write to files or to the terminal's scrollback. It uses the alternate screen, \
      which is cleared at the end. The editor is a separate program. Its file is in memory, readable only by you, and \
      wiped.

      After 5 minutes without a key press, or after L, the screen is cleared, the store is closed and its keys are \
      wiped. Return opens the store at the same place with the same key. A passphrase is asked for, but a key file is \
      read without a question, so it doesn't keep out a person at the keyboard. While the editor runs, nothing is \
      locked.

        dbtool browse texts.coffer --key-file my.key
        dbtool browse texts.coffer -c notes --lock-after 1
      """)

  @OptionGroup var options: StoreOptions

  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("Start in this collection.", valueName: "name"))
  var collection: String?

  @Option(
    help: ArgumentHelp("Lock after this many minutes without a key press (0 for never).", valueName: "minutes"))
  var lockAfter = 5.0

  @Flag(help: "Don't allow changes. v only shows a message.")
  var readOnly = false

  func validate() throws {
    guard lockAfter >= 0, lockAfter <= 1e6 else { throw ValidationError("--lock-after takes minutes, 0 or more") }
  }

  func run() throws {
    try requireFullScreen()
    let isReadOnly = readOnly || access(options.store.path, W_OK) != 0
    // A signal ends the screen at any time, even after a change is stored.
    try Cancellation.ignoring { try browser(program(readOnly: isReadOnly)).run() }
  }

  private func browser(_ program: BrowserProgram) throws -> Browser {
    let lockSeconds = lockAfter * 60
    if let state = Restart.takeState() {
      return try Browser(LockedBrowser(state), named: options.store.path, lockAfter: lockSeconds, program: program)
    }
    let store = try program.reopen()
    if let collection {
      // If the collection is missing, the error lists the existing collections.
      try store.read { try Collections.require([collection], in: $0, of: store) }
    }
    return try Browser(
      store, named: options.store.path, at: collection, lockAfter: lockSeconds, program: program)
  }

  private func requireFullScreen() throws {
    switch FullScreen.obstacle {
    case nil: break
    case .noTerminal:
      throw Failure.usage("browse needs a terminal", hint: "ls, show and search print for other programs")
    case .unsuitable(let type):
      throw Failure.usage(
        "this terminal can't show a full screen (TERM is \(type.isEmpty ? "not set" : type))",
        hint: "ls, show and search print line by line")
    }
  }

  private func program(readOnly isReadOnly: Bool) -> BrowserProgram {
    BrowserProgram(
      restart: { try Restart.run(with: $0.bytes) },
      reopen: { try options.open(readOnly: isReadOnly) },
      edit: { id, reader in
        let edit = try TextEdit(of: id, in: reader, at: options.store.path)
        return { store in
          let outcome = Result { try edit.run(in: store, with: Editor(), onDisk: false, Diagnostics(isQuiet: false)) }
          try Interrupt.check()
          return outcome.map { $0 == .stored }
        }
      },
      message: { error in
        let failure = Failure(error)
        return failure.message + (failure.hint.map { "; " + $0 } ?? "")
      },
      date: { date in LocalTime.text(date) ?? date.description })
  }
}
