import ArgumentParser
import Coffer
import Foundation

/// The program: a word of the command line for each thing that a ``Notebook`` does.
struct Notes: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Keeps notes in one encrypted file.",
    subcommands: [
      Add.self, List.self, Show.self, Edit.self, Delete.self, Attach.self, Pictures.self, Save.self, Find.self,
      Move.self, Sort.self, Watch.self, Sync.self,
    ])
}

@main enum Program {
  static func main() async {
    do {
      var command = try Notes.parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let error as StoreError {
      // The error in words, and the next step: a person has dbtool where an app has calls of the library.
      let hint = error.advice.map { advice in
        advice.text { action in
          switch action {
          case .info, .pin: "dbtool info"
          case .makeKey: "dbtool keygen"
          case .verify: "dbtool verify"
          default: action.rawValue
          }
        }
      }
      let sentence = hint.map { "\(error.message); \($0)" } ?? error.message
      FileHandle.standardError.write(Data("notes: \(sentence)\n".utf8))
      exit(1)
    } catch {
      Notes.exit(withError: error)
    }
  }
}

/// The store and its key.
struct NotebookOptions: ParsableArguments {
  @Option(help: "The file with the notes.") var store = "notes.coffer"
  @Option(help: "A key file; without it, the passphrase is asked for. NOTES_KEY_FILE names one, too.")
  var keyFile: String?

  var url: URL { URL(filePath: store) }

  func open() throws -> Notebook {
    try Notebook(at: url, key: key(isNew: !FileManager.default.fileExists(atPath: store)))
  }

  /// The key, whose passphrase is asked for here, so that several calls can use it.
  func key(isNew: Bool = false) throws -> StoreKey {
    if let path = keyFile ?? ProcessInfo.processInfo.environment["NOTES_KEY_FILE"], !path.isEmpty {
      return .keyFile(URL(filePath: path))
    }
    let passphrase = try isNew ? Terminal.newPassphrase() : Terminal.passphrase("Passphrase: ")
    return .passphrase { passphrase }
  }
}

/// The number of a note as a word of the command line.
@Sendable private func noteID(_ word: String) throws -> DocumentID {
  guard let number = Int64(word), number > 0 else { throw ValidationError("a note is named by its number") }
  return DocumentID(number)
}

struct Add: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Adds a note; its text is standard input.")
  @OptionGroup var notebook: NotebookOptions
  @Argument(help: "The title; without it, the beginning of the text.") var title: String?

  func run() throws {
    let text = try Terminal.readText()
    Terminal.print("\(try notebook.open().add(text, title: title))")
  }
}

struct List: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Lists the notes: number, date of change, title.")
  @OptionGroup var notebook: NotebookOptions

  func run() throws {
    for header in try notebook.open().list() { Terminal.print(line(for: header)) }
  }
}

struct Show: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Prints the text of a note.")
  @OptionGroup var notebook: NotebookOptions
  @Argument(transform: noteID) var note: DocumentID

  func run() throws {
    let text = try notebook.open().text(of: note)
    Terminal.print(Terminal.printable(text), end: text.hasSuffix("\n") ? "" : "\n")
  }
}

struct Edit: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Replaces the text of a note by standard input.",
    discussion: "The new text reaches no file: pipe it in, or type it and end it with Ctrl-D.")
  @OptionGroup var notebook: NotebookOptions
  @Argument(transform: noteID) var note: DocumentID

  func run() throws {
    let text = try Terminal.readText()
    try notebook.open().edit(note, text: text)
  }
}

struct Delete: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Deletes notes: all that are named, or none.")
  @OptionGroup var notebook: NotebookOptions
  @Argument(transform: noteID) var notes: [DocumentID]

  func run() throws {
    try notebook.open().delete(notes)
  }
}

struct Attach: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Attaches pictures to a note: all of them, or none.")
  @OptionGroup var notebook: NotebookOptions
  @Argument(transform: noteID) var note: DocumentID
  @Argument var files: [String]

  func run() throws {
    try notebook.open().attach(files.map { URL(filePath: $0) }, to: note)
  }
}

struct Pictures: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Lists the pictures of a note: name, type, bytes.")
  @OptionGroup var notebook: NotebookOptions
  @Argument(transform: noteID) var note: DocumentID

  func run() throws {
    for picture in try notebook.open().pictures(of: note) {
      let name = Terminal.printable(picture.name, onOneLine: true)
      Terminal.print("\(name)\t\(picture.mediaType)\t\(picture.byteCount)")
    }
  }
}

struct Save: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Writes a picture of a note to a new file.")
  @OptionGroup var notebook: NotebookOptions
  @Argument(transform: noteID) var note: DocumentID
  @Argument(help: "The picture's name.") var name: String
  @Argument(help: "The new file.") var file: String

  func run() throws {
    try notebook.open().save(name, of: note, to: URL(filePath: file))
  }
}

struct Find: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Finds notes by words, the best match first.",
    discussion: "Several words: all of them. Also OR, NOT, \"a phrase\" and beginnings such as sail*.")
  @OptionGroup var notebook: NotebookOptions
  @Argument var words: [String]

  func run() throws {
    let found = try notebook.open().find(words.joined(separator: " "))
    for match in found.matches {
      let title = Terminal.highlighted(match.header.title ?? "", match.titleRanges)
      Terminal.print("\(match.header.id)\t\(title)")
      guard let snippet = match.snippet else { continue }
      let lines = Terminal.highlighted(snippet.text, snippet.ranges)
      Terminal.print("\t\(lines.trimmingCharacters(in: .whitespaces))")
    }
    guard found.total > 0 else { throw ExitCode(1) }
  }
}

struct Move: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Moves a note: to top or bottom, before or after another.")
  @OptionGroup var notebook: NotebookOptions
  @Argument(transform: noteID) var note: DocumentID
  @Argument(help: "top, bottom, before or after") var place: String
  @Argument(help: "The other note, for before and after.", transform: noteID) var other: DocumentID?

  func run() throws {
    let placement: Placement
    switch (place, other) {
    case ("top", nil): placement = .top
    case ("bottom", nil): placement = .bottom
    case ("before", let other?): placement = .before(other)
    case ("after", let other?): placement = .after(other)
    default: throw ValidationError("a place is: top, bottom, before NOTE or after NOTE")
    }
    try notebook.open().move(note, to: placement)
  }
}

struct Sort: ParsableCommand {
  enum Order: String, ExpressibleByArgument, CaseIterable {
    case title, created, modified
  }

  static let configuration = CommandConfiguration(abstract: "Sorts the notes once.")
  @OptionGroup var notebook: NotebookOptions
  @Argument(help: "title, created or modified") var order: Order
  @Flag(help: "The greatest first.") var descending = false

  func run() throws {
    let order: DocumentOrder =
      switch order {
      case .title: .title
      case .created: .created
      case .modified: .modified
      }
    try notebook.open().sort(by: order, descending: descending)
  }
}

struct Watch: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints the changes that other processes make, until Ctrl-C.")
  @OptionGroup var notebook: NotebookOptions

  func run() async throws {
    let notebook = try notebook.open()
    // Changes don't keep their store open: without this reference they would end at once.
    defer { withExtendedLifetime(notebook) {} }
    var rows: [DocumentHeader] = []
    var isFirst = true
    for try await change in notebook.changes() {
      if isFirst {
        Terminal.print("watching (notes: \(change.count))")
      } else {
        for index in change.deleted { Terminal.print("deleted  \(line(for: rows[index]))") }
        for row in change.inserted { Terminal.print("added    \(line(for: row.element))") }
        for row in change.updated { Terminal.print("changed  \(line(for: row.element))") }
        for row in change.moved { Terminal.print("moved    \(line(for: row.element))") }
      }
      try change.apply(to: &rows)
      isFirst = false
    }
  }
}

struct Sync: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Exchanges notes with other devices through a folder, until Ctrl-C.",
    discussion: "Begin on one device with an empty folder, and join on the others with a new store.")
  @OptionGroup var notebook: NotebookOptions
  @Argument(help: "The folder that something carries to the other devices.") var folder: String
  @Flag(help: "Begin with this folder.") var begin = false
  @Flag(help: "Make the store with the notes of the folder.") var join = false
  @Flag(help: "End after one exchange.") var once = false
  @Option(help: "What to call this device.") var device = ProcessInfo.processInfo.hostName

  func run() async throws {
    let folder = SyncFolder(at: URL(filePath: folder))
    let key = try notebook.key()
    if join { try Notebook.join(folder, at: notebook.url, key: key, device: device) }
    let opened = try Notebook(at: notebook.url, key: key)
    if begin { try opened.startSyncing(by: folder, key: key, device: device) }
    for try await report in opened.sync(with: folder) {
      let changes = report.taken.map(\.report.changeCount).reduce(0, +)
      Terminal.print("published \(report.publishedDocuments), took \(changes)")
      for problem in report.problems { Terminal.print("\(problem.path): \(problem.advice)") }
      if once { break }
    }
  }
}

private func line(for header: DocumentHeader) -> String {
  let day = header.modified.description.prefix(10)
  return "\(header.id)\t\(day)\t\(Terminal.printable(header.title ?? "", onOneLine: true))"
}
