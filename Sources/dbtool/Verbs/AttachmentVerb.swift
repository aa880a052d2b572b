internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferFormats
internal import CofferFoundation
internal import CofferPlatform

/// `attachment add|ls|get|rm STORE`: manages files attached to documents.
struct AttachmentVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "attachment",
    abstract: "Add, list, get or remove files attached to documents.",
    discussion: """
      A document can have any number of files, sealed next to its text.

        dbtool attachment add texts.coffer 17 photo.jpeg scan.pdf
        dbtool attachment ls texts.coffer 17
        dbtool attachment get texts.coffer 17 scan.pdf > scan.pdf
      """,
    subcommands: [
      AttachmentAddVerb.self, AttachmentListVerb.self, AttachmentGetVerb.self, AttachmentRemoveVerb.self,
    ])
}

/// The document whose attachments a verb names.
struct AttachedDocument: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("Look for the document only in this collection.", valueName: "name"))
  var collection: String?

  @Argument(help: "The document's id, key or title.")
  var document: String

  func header(in scope: borrowing some StoreReading & ~Copyable, of store: DocumentStore) throws -> DocumentHeader {
    let found = try DocumentWords(words: [.any(document)], collection: collection).existing(in: scope, of: store)
    guard found.count == 1 else { throw DocumentWords.ambiguous("that name", found) }
    return found[0]
  }
}

struct AttachmentAddVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Attach files to a document.",
    discussion: """
      Attaches all files or none. Each file keeps its name and date, and the media type follows from the name. \
      Standard input ('-') and pipes are read completely, into a sealed file without a name, before the store is \
      locked. If the program that writes to a pipe fails, the part that it wrote is attached. If it can fail, let it \
      write a file instead.

        dbtool attachment add texts.coffer 17 photo.jpeg scan.pdf
        arecord -f cd | dbtool attachment add texts.coffer 17 - --name memo.wav
        dbtool attachment add texts.coffer n-42 scan.pdf --replace
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup var choice: AttachedDocument

  @Argument(help: ArgumentHelp("The files, or '-' for standard input.", valueName: "file"), completion: .file())
  var files: [String]

  @Option(parsing: .unconditional, help: ArgumentHelp("The name, for one file.", valueName: "name"))
  var name: String?

  @Option(help: ArgumentHelp("The media type, such as image/png.", valueName: "type"))
  var type: String?

  @Flag(help: "Replace attachments with the same names.")
  var replace = false

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if name != nil, files.count > 1 { throw ValidationError("--name is for one file") }
    if files.contains(InputFile.standardInput), name == nil {
      throw ValidationError("standard input has no name: give one with --name")
    }
    try InputFile.requireDistinctNames(files)
  }

  func run() throws {
    try InputFile.requireOneStandardInput(files)
    let bar = Progress("attach", unit: "byte", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let added = try Interrupt.deferring {
      let contents = try files.map { try AttachmentContent.argument($0, bar) }
      let store = try options.open(readOnly: false)
      let added = try store.write { writer in
        let document = try choice.header(in: writer, of: store).id
        return try zip(files, contents).map { file, content in
          try writer.attach(
            content, to: document, name: name ?? InputFile.name(of: file), type: type, replacing: replace
          ) {
            try Interrupt.check()
            bar.update($0)
          }
        }
      }
      try store.close()
      return added
    }
    bar.finish()
    guard options.common.isMachineReadable else { return }
    try AttachmentField.print(added, as: options.common.listFormat)
  }
}

extension WriteTransaction {
  /// Attaches contents, or replaces the document's attachment with this name.
  ///
  /// - Throws: Errors of ``attach(_:to:name:type:date:progress:)``, with a hint if the name is taken, and `usage` if
  ///   several attachments have the name, as after a merge.
  func attach(
    _ content: AttachmentContent, to document: DocumentID, name: String, type: String?, replacing isReplacing: Bool,
    progress: @escaping ProgressHandler
  ) throws -> Attachment {
    let named = try attachments(of: document).filter { $0.name.utf8.elementsEqual(name.utf8) }
    guard let former = named.first else {
      return try attach(content, to: document, name: name, type: type, progress: progress)
    }
    guard isReplacing else {
      throw Failure(
        .failed, kind: "already-exists", "document \(document) has an attachment \(name)",
        hint: "--replace replaces it; --name gives one file another name")
    }
    guard named.count == 1 else {
      throw AttachmentWords.ambiguous(name, named, of: document, hint: "dbtool attachment rm removes one by its number")
    }
    return try replace(former.id, with: content, type: type, progress: progress)
  }
}

struct AttachmentListVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "List attachments: document, number, name, type, size, date.",
    discussion: """
      Lists the attachments of the given documents, or of all documents, without opening contents. JSON also has the \
      SHA-256.

        dbtool attachment ls texts.coffer 17
        dbtool attachment ls texts.coffer -c notes --json
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Documents") var extent: ExtentOptions

  func run() throws {
    let store = try options.open(readOnly: true)
    var table = AttachmentField.table(as: options.common.listFormat)
    try store.read { reader in
      if !extent.words.isEmpty {
        for header in try extent.words.existing(in: reader, of: store) {
          try add(header, reader, to: &table)
        }
        return
      }
      for name in try Collections.covered(extent.collections, in: reader, of: store) {
        try reader.forEachHeader(in: DocumentCollection(name)) { header in
          try add(header, reader, to: &table)
        }
      }
    }
    try store.close()
    try table.finish()
  }

  private func add(
    _ header: DocumentHeader, _ reader: borrowing ReadTransaction, to table: inout TableWriter
  ) throws {
    guard header.attachmentCount > 0 else { return }
    for attachment in try reader.attachments(of: header.id) {
      try table.add(AttachmentField.cells(of: attachment, as: options.common.listFormat))
    }
  }
}

struct AttachmentGetVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Write attachments to standard output, a file or a folder.",
    discussion: """
      A single attachment goes to standard output, or to the file of -o. Several attachments, or all of a document \
      without NAME, go to the folder of -o, under names that are safe in any file system. A file appears when its \
      contents are complete and proved.

        dbtool attachment get texts.coffer 17 scan.pdf > scan.pdf
        dbtool attachment get texts.coffer 17 scan.pdf -o scan.pdf
        dbtool attachment get texts.coffer 17 -o folder/
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup var choice: AttachedDocument

  @Argument(help: ArgumentHelp("Names, or numbers (#3).", valueName: "name"))
  var names: [String] = []

  @Option(
    name: .shortAndLong, help: ArgumentHelp("The file, or the folder for several.", valueName: "path"),
    completion: .file())
  var output: String?

  @Flag(name: .shortAndLong, help: "Replace existing files.")
  var force = false

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if names.count != 1, output == nil || output == InputFile.standardInput {
      throw ValidationError("several attachments go to a folder: name it with -o")
    }
  }

  func run() throws {
    let store = try options.open(readOnly: true)
    let bar = Progress("get", unit: "byte", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    try Interrupt.deferring {
      try store.read { reader in
        let header = try choice.header(in: reader, of: store)
        let attachments =
          try names.isEmpty
          ? reader.attachments(of: header.id) : AttachmentWords(words: names).existing(of: header, in: reader)
        guard !attachments.isEmpty else {
          throw Failure.noSuchDocument("document \(header.id) has no attachments")
        }
        guard let output, output != InputFile.standardInput else {
          return try StandardOutput.write(attachments[0], of: reader)
        }
        let isFolder = names.count != 1 || output.hasSuffix("/") || InputFile.isDirectory(output)
        if isFolder { try InputFile.makeFolder(output) }
        var files = AttachmentFileNames()
        for attachment in attachments {
          let path = isFolder ? "\(output)/\(files.name(for: attachment.name, number: attachment.id.rawValue))" : output
          try save(attachment, to: path, reader, bar)
        }
      }
      try store.close()
    }
  }

  private func save(
    _ attachment: Attachment, to path: String, _ reader: borrowing ReadTransaction, _ bar: Progress
  ) throws {
    let file = try OutputFile(
      at: path, isForced: force, inputs: options.inputPaths, permissions: OutputFile.privatePermissions)
    let output = StandardOutput(to: file)
    var done = 0
    try reader.forEachPart(of: attachment.id) { part in
      try Interrupt.check()
      try output.write(part)
      done += part.count
      bar.update(done, of: attachment.byteCount)
    }
    try output.flush()
    try file.commit()
  }
}

extension StandardOutput {
  /// Writes an attachment's contents to standard output.
  ///
  /// - Throws: `usage` if standard output is a terminal, unless the contents are a short text.
  static func write(_ attachment: Attachment, of reader: borrowing ReadTransaction) throws {
    let output = StandardOutput(readsAhead: true)
    let isShort = attachment.byteCount <= StandardOutput.bufferSize
    guard !output.isTerminal || isShort && attachment.mediaType.hasPrefix("text/") else {
      throw Failure.usage(
        "the content would go to the terminal", hint: "'attachment get -o FILE' writes it; | and > pass it on")
    }
    try reader.forEachPart(of: attachment.id) { part in
      try Interrupt.check()
      try output.write(part)
    }
    try output.flush()
  }
}

struct AttachmentRemoveVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm",
    abstract: "Remove attachments from a document.",
    discussion: """
      Removes all of them in one transaction, or none if one is missing.

        dbtool attachment rm texts.coffer 17 scan.pdf
        dbtool attachment rm texts.coffer 17 '#3' --dry-run
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup var choice: AttachedDocument

  @Argument(help: ArgumentHelp("Names, or numbers (#3).", valueName: "name"))
  var names: [String]

  @Flag(name: [.customShort("n"), .long], help: "Show what would be removed without removing it.")
  var dryRun = false

  func run() throws {
    let store = try options.open(readOnly: dryRun)
    let words = AttachmentWords(words: names)
    let removed =
      dryRun
      ? try store.read { reader in
        try words.existing(of: choice.header(in: reader, of: store), in: reader)
      }
      : try store.write { writer in
        let found = try words.existing(of: choice.header(in: writer, of: store), in: writer)
        for attachment in found { try writer.detach(attachment.id) }
        return found
      }
    try store.close()
    guard dryRun || options.common.isMachineReadable else { return }
    try AttachmentField.print(removed, as: options.common.listFormat)
  }
}
