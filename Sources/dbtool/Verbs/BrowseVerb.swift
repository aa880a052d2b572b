internal import ArgumentParser
internal import Coffer
internal import CofferBrowser
internal import CofferPlatform
internal import CofferTerminal

/// `browse STORE`: a store on the whole terminal.
struct BrowseVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "browse",
    abstract: "Look through a store on the whole terminal.",
    discussion: """
      Shows the collections, the titles of one of them, and beside them the text of the marked document. Keys are those \
      of less; h lists them:

        j k Space b d u g G   move: a line, a page, half one, to the ends
        Return  Tab           into the collection, the text; back
        q  Q                  back, or the end; the end at once
        & and letters         only the titles that hold the letters
        / and words, Return   only the documents that hold the words
        n  N                  the next hit of the words, the one before
        s and a letter        sort; a capital letter reverses the order
        =  v                  the document's facts; edit its text

      A list, a filter and a sort open no text; the marked document is opened when it is shown. v runs your editor as \
      'edit' does. Other programs' changes show at once. While another program holds the store, keys are taken. Nothing is written into a file, and nothing into the terminal's scrollback: the screen is the \
      alternate one, which is cleared at the end. The editor is another program: its file is in memory, readable by you \
      alone, and wiped.

      After 5 minutes without a key press, or after L, the screen is cleared, the store is closed and its keys are \
      wiped. Return opens it again, at the same place, by the same key: a passphrase is asked for, but a key file is read without a question, so that \
      it keeps no person at the keyboard out. While the editor runs, nothing is locked.

        dbtool browse texts.coffer --key-file my.key
        dbtool browse texts.coffer -c notes --lock-after 1
      """)

  @OptionGroup var options: StoreOptions

  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("Begin in this collection.", valueName: "name"))
  var collection: String?

  @Option(
    help: ArgumentHelp("Lock after so many minutes without a key press; 0 never.", valueName: "minutes"))
  var lockAfter = 5.0

  @Flag(help: "Change nothing: v shows a message only.")
  var readOnly = false

  func validate() throws {
    guard lockAfter >= 0, lockAfter <= 1e6 else { throw ValidationError("--lock-after takes minutes, 0 or more") }
  }

  func run() throws {
    try requireFullScreen()
    let isReadOnly = readOnly || access(options.store.path, W_OK) != 0
    try browser(program(readOnly: isReadOnly)).run()
  }

  private func browser(_ program: BrowserProgram) throws -> Browser {
    let lockSeconds = lockAfter * 60
    if let state = Restart.takeState() {
      return try Browser(LockedBrowser(state), named: options.store.path, lockAfter: lockSeconds, program: program)
    }
    let store = try program.reopen()
    if let collection {
      // The error for a missing one lists the existing ones.
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
