internal import ArgumentParser
internal import Coffer
internal import CofferText

/// `put STORE [FILE]`: one document in, its id out.
struct PutVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "put",
    abstract: "Add a document, or replace one.",
    discussion: """
      The text comes from FILE, standard input or --text. With --id or --key-name the document there is replaced, or \
      made there; what is not given (title, attributes) stays. Prints the id. Without a title, the beginning of the \
      text is one.

        dbtool put texts.coffer letter.txt --key-file my.key
        dbtool put texts.coffer -c notes --key-name n-42 --title "To do" < todo.txt
      """)

  @OptionGroup var options: StoreOptions

  @Argument(
    help: "The text: UTF-8, or UTF-16 with a byte order mark. Without it, or as '-': standard input.",
    completion: .file())
  var file: String?

  @Option(parsing: .unconditional, help: ArgumentHelp("The text itself.", valueName: "text"))
  var text: String?

  @Option(help: ArgumentHelp("The document's id.", valueName: "n"))
  var id: Int64?

  @Option(
    name: .customLong("key-name"), parsing: .unconditional,
    help: ArgumentHelp("The document's key in its collection.", valueName: "key"))
  var key: String?

  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("The collection (default: documents), made if missing.", valueName: "name"))
  var collection: String?

  @Option(parsing: .unconditional, help: ArgumentHelp("The title.", valueName: "text"))
  var title: String?

  @Flag(help: "A new document goes to the top of its collection.")
  var top = false

  @Flag(help: "Store a text of no bytes.")
  var allowEmpty = false

  @Flag(help: "Only where nothing is yet (else exit code 4).")
  var createOnly = false

  @Flag(help: "Only where a document is already (else exit code 14).")
  var updateOnly = false

  func validate() throws {
    if text != nil, file != nil { throw ValidationError("give FILE or --text, not both") }
    if id != nil, key != nil { throw ValidationError("give --id or --key-name, not both") }
    if let id, id < 1 { throw ValidationError("ids are numbers from 1") }
    if createOnly, updateOnly { throw ValidationError("--create-only and --update-only exclude each other") }
    if updateOnly, id == nil, key == nil { throw ValidationError("--update-only needs --id or --key-name") }
  }

  func run() throws {
    let text = try readText()
    guard allowEmpty || !text.isEmpty else {
      throw Failure(.failed, kind: "empty-text", "the text is empty", hint: "--allow-empty stores it")
    }
    let store = try options.open(readOnly: false)
    let stored = try store.write { writer in
      try put(text, into: store.collection(collection ?? defaultCollection), with: writer)
    }
    try store.close()
    if options.common.isMachineReadable {
      try Report([("id", .integer(stored.rawValue))]).print(as: options.common.listFormat)
    } else {
      try printLines(stored.description)
    }
  }

  private func put(
    _ text: String, into collection: DocumentCollection, with writer: borrowing StoreWriter
  ) throws -> DocumentID {
    guard let existing = try existingDocument(in: collection, writer) else {
      if updateOnly {
        throw Failure.noSuchDocument(id.map(String.init) ?? "nothing in \(collection.name) has that key")
      }
      let new = Document(
        title: title ?? TitleRule.derivedTitle(from: text), text: text, key: key.map { ExternalKey($0) })
      return try writer.insert(new, into: collection, at: top ? .top : .bottom, id: id.map { DocumentID($0) })
    }
    if createOnly {
      throw Failure(.answerIsNo, kind: "already-exists", "document \(existing.id) is there already")
    }
    // A title that was the beginning of the old text becomes the beginning of the new one; any other stays.
    try writer.update(existing.id) { document in
      let isDerived = document.title == nil || document.title == document.derivedTitle
      document.text = text
      document.title = title ?? (isDerived ? document.derivedTitle : document.title)
    }
    return existing.id
  }

  /// The document to replace; nil where a new one is to be made.
  private func existingDocument(
    in collection: DocumentCollection, _ writer: borrowing StoreWriter
  ) throws -> DocumentHeader? {
    if let key {
      return try writer.id(forKey: ExternalKey(key), in: collection).map { try writer.header(of: $0) }
    }
    guard let id = id.map({ DocumentID($0) }), try writer.exists(id) else { return nil }
    let header = try writer.header(of: id)
    if self.collection != nil {
      guard try writer.exists(collection), try writer.info(of: collection).id == header.collection else {
        throw Failure(.failed, kind: "already-exists", "document \(id) stands in another collection")
      }
    }
    return header
  }

  private func readText() throws -> String {
    if let text { return text }
    let path = file ?? InputFile.standardInput
    let bytes = try InputFile.contents(of: path, limit: TextLimit.inputBytes)
    do throws(TextCodingError) {
      return String(decoding: try TextDecoder.utf8(from: bytes, in: .automatic), as: UTF8.self)
    } catch {
      let name = path == InputFile.standardInput ? "standard input" : path
      throw Failure(error, in: name, optionName: nil)
    }
  }
}

enum TextLimit {
  /// Twice a document's limit of 256 MiB: its UTF-16 is no longer than that.
  static let inputBytes = 512 << 20
}
