internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferText

/// `put STORE [FILE]`: stores one document and prints its ID.
struct PutVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "put",
    abstract: "Add or replace a document.",
    discussion: """
      Reads the text from FILE, standard input or --text. --id and --key-name name the document to replace, or to \
      create if it is missing. A replaced document keeps its title and attributes if you don't give new values. Prints \
      the id. Without a title, the beginning of the text is the title. An attribute is text (name=value) or JSON \
      (name:=value).

        dbtool put texts.coffer letter.txt --key-file my.key
        dbtool put texts.coffer -c notes --key-name n-42 < todo.txt
        dbtool put texts.coffer --text "Sail at dawn." --attr stars:=3
        dbtool put texts.coffer letter.txt --attach scan.pdf
      """)

  @OptionGroup var options: StoreOptions

  @Argument(
    help: "A file in UTF-8, or in UTF-16 with a byte order mark. '-' is standard input (the default).",
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
    help: ArgumentHelp("The collection, created if missing (default: the only collection).", valueName: "name"))
  var collection: String?

  @Option(parsing: .unconditional, help: ArgumentHelp("The title.", valueName: "text"))
  var title: String?

  @Option(
    name: .customLong("attr"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Set an attribute to text, or to JSON with := (repeatable).", valueName: "name=value"))
  var attributes: [AttributeArgument] = []

  @Option(
    name: .customLong("attach"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Attach a file, replacing an attachment with its name (repeatable).", valueName: "file"),
    completion: .file())
  var attached: [String] = []

  @Flag(help: "Insert a new document at the top of its collection.")
  var top = false

  @Flag(help: "Allow an empty text.")
  var allowEmpty = false

  @Flag(help: "Only create a new document (exit code 4 if it exists).")
  var createOnly = false

  @Flag(help: "Only replace an existing document (exit code 14 if it is missing).")
  var updateOnly = false

  func validate() throws {
    if text != nil, file != nil { throw ValidationError("give FILE or --text, not both") }
    if id != nil, key != nil { throw ValidationError("give --id or --key-name, not both") }
    if let id, id < 1 { throw ValidationError("ids are numbers from 1") }
    if attached.contains(InputFile.standardInput) {
      throw ValidationError("standard input has no name: 'attachment add' attaches it with --name")
    }
    try InputFile.requireDistinctNames(attached)
    if createOnly, updateOnly { throw ValidationError("--create-only and --update-only exclude each other") }
    if updateOnly, id == nil, key == nil { throw ValidationError("--update-only needs --id or --key-name") }
  }

  func run() throws {
    let text = try readText()
    guard allowEmpty || !text.isEmpty else {
      throw Failure(.failed, kind: "empty-text", "the text is empty", hint: "--allow-empty stores it")
    }
    let bar = Progress("attach", unit: "byte", style: .auto, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let contents = try attached.map { try AttachmentContent.argument($0, bar) }
    let store = try options.open(readOnly: false)
    if title != nil { try options.requireTitles(of: store, for: "--title") }
    var note: String?
    let stored = try store.write { writer in
      let id = try put(text, with: writer, noting: &note)
      for (file, content) in zip(attached, contents) {
        _ = try writer.attach(content, to: id, name: InputFile.name(of: file), type: nil, replacing: true) {
          bar.update($0)
        }
      }
      return id
    }
    try store.close()
    if let note { options.common.diagnostics.note(note) }
    if options.common.isMachineReadable {
      try Report([("id", .integer(stored.rawValue))]).print(as: options.common.listFormat)
    } else {
      try printLines(stored.description)
    }
  }

  private func put(
    _ text: String, with writer: borrowing WriteTransaction, noting note: inout String?
  ) throws -> DocumentID {
    guard let existing = try existingDocument(writer) else {
      guard !updateOnly else {
        throw Failure.noSuchDocument(id.map(String.init) ?? "nothing has that key")
      }
      let there = try writer.collectionNames().map(\.name)
      let name = try collection ?? Collections.target(among: there)
      if !there.containsExactly(name) {
        note = Collections.note(new: [name], beside: there, isNamed: collection != nil)
      }
      let new = Document(
        title: title ?? TitleRule.derivedTitle(from: text), text: text, key: key.map { DocumentKey($0) },
        attributes: try attributes.applied(to: Attributes()))
      return try writer.insert(
        new, into: DocumentCollection(name), at: top ? .top : .bottom, id: id.map { DocumentID($0) })
    }
    if createOnly {
      throw Failure(.answerIsNo, kind: "already-exists", "document \(existing.id) already exists")
    }
    if existing.isJSON { try ValueText.require(text, for: existing.id) }
    // Update a title that was derived from the old text, and keep any other title.
    let attributes = try attributes.applied(to: existing.attributes)
    try writer.update(existing.id) { document in
      let isDerived = document.title == nil || document.title.isIdentical(to: document.derivedTitle)
      document.text = text
      if title != nil || isDerived { document.title = title ?? document.derivedTitle }
      document.attributes = attributes
    }
    return existing.id
  }

  /// Returns the document to replace, or `nil` to create a document.
  private func existingDocument(_ writer: borrowing WriteTransaction) throws -> DocumentHeader? {
    if let key {
      let collection = DocumentCollection(try Collections.target(collection, in: writer))
      guard try writer.exists(collection) else { return nil }
      return try writer.id(forKey: DocumentKey(key), in: collection).map { try writer.header(of: $0) }
    }
    guard let id = id.map({ DocumentID($0) }), try writer.exists(id) else { return nil }
    let header = try writer.header(of: id)
    if let collection {
      let wanted = DocumentCollection(collection)
      guard try writer.exists(wanted), try writer.info(of: wanted).id == header.collection else {
        throw Failure(.failed, kind: "already-exists", "document \(id) is in another collection")
      }
    }
    return header
  }

  private func readText() throws -> String {
    if let text { return text }
    let path = file ?? InputFile.standardInput
    if path != InputFile.standardInput, !InputFile.exists(path) {
      // Don't repeat a text that was given instead of a file.
      let name = path.contains(where: \.isWhitespace) ? "the file to store" : path
      throw Failure(
        .failed, kind: "no-such-file", "\(name): no such file or directory", hint: "--text TEXT stores a text")
    }
    let bytes = try InputFile.contents(of: path, limit: TextLimit.inputBytes)
    do throws(TextCodingError) {
      return String(decoding: try TextDecoder.utf8(from: bytes, in: .automatic), as: UTF8.self)
    } catch {
      let name = InputFile.described(path)
      throw Failure(error, in: name, head: Array(bytes.prefix(ForeignContent.headCount))) { encoding in
        "dbtool convert --from \(encoding.rawValue) --to utf-8-bom \(Shell.quoted(path: path))"
      }
    }
  }
}

/// `name=value`, whose value is a text, or `name:=value`, whose value is JSON.
struct AttributeArgument: ExpressibleByArgument {
  let name: String
  let value: AttributeValue

  init?(argument: String) {
    guard let equals = argument.firstIndex(of: "="), equals > argument.startIndex else { return nil }
    let value = argument[argument.index(after: equals)...]
    let isJSON = argument[argument.index(before: equals)] == ":"
    guard isJSON else {
      (name, self.value) = (String(argument[..<equals]), .string(String(value)))
      return
    }
    name = String(argument[..<equals].dropLast())
    guard !name.isEmpty, let parsed = try? Attributes(json: "{\"value\":\(value)}"), parsed.members.count == 1,
      let value = parsed["value"]
    else { return nil }
    self.value = value
  }
}

extension [AttributeArgument] {
  /// Returns the attributes with these values set and the given names removed.
  func applied(to old: Attributes, removing removed: [String] = []) throws -> Attributes {
    var attributes = old
    for name in removed { attributes[name] = nil }
    for attribute in self { attributes[attribute.name] = attribute.value }
    if let fault = attributes.fault { throw fault }
    return attributes
  }
}
