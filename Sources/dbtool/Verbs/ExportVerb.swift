internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferText

/// `export STORE [NAME…]`: writes documents in order to standard output, a file or a directory.
struct ExportVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write documents unencrypted, as NDJSON, CSV, files, SQLite, …",
    discussion: """
      Writes a snapshot, in order. NDJSON and JSON keep every fact and list attachments, and --attachments writes \
      their contents. SQLite keeps the rest, with a table for each collection. CSV and TSV have a column for each part \
      and attribute. plist keeps id, title, text and attributes. text writes a file for each document, a folder next \
      to it for its attachments, and an index.ndjson with all other facts. A note counts the parts that a format \
      omits. 'import --keep-ids' can read each format. The output isn't encrypted, so files are readable only by you.

        dbtool export texts.coffer --key-file my.key > all.ndjson
        dbtool export texts.coffer -c notes -o notes.csv
        dbtool export texts.coffer --to text -o texts/
        dbtool export texts.coffer 17 -o letter.txt
      """)

  @OptionGroup var options: StoreOptions

  @OptionGroup var extent: ExtentOptions

  @Option(help: ArgumentHelp("The format (default: from -o's extension, else ndjson).", valueName: "format"))
  var to: ExportFormat?

  @Option(
    name: .shortAndLong, help: ArgumentHelp("The file, or the directory for text.", valueName: "path"),
    completion: .file())
  var output: String?

  @Option(
    help: ArgumentHelp(
      "The encoding of csv, tsv and text (default: utf-8). utf-8-bom and utf-16 begin with a byte order mark.",
      valueName: "encoding"))
  var encoding: OutputEncodingName<UnicodeEncoding>?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The columns of csv and tsv, in order: id, title, text, key, created, modified, parent, json, or attribute names.",
      valueName: "list"))
  var columns: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The field separator in csv and tsv: a character, or 'tab'.", valueName: "char"))
  var delimiter: FieldDelimiter?

  @Option(
    help: ArgumentHelp(
      "A new folder for the attachment contents that ndjson and json list.", valueName: "dir"),
    completion: .directory)
  var attachments: String?

  @Flag(help: "Begin text files with the attributes, in the form that 'import --front-matter' reads.")
  var frontMatter = false

  @Flag(name: .shortAndLong, help: "Replace an existing output.")
  var force = false

  @Flag(help: "Don't compare the documents with the store's set hash and count.")
  var unverified = false

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if options.common.format != nil || options.common.table, output == nil || output == InputFile.standardInput {
      throw ValidationError(
        "--format is the form of a report, which only -o leads to: --to names the format of the documents")
    }
    if let to, to.hasFixedEncoding, encoding != nil { throw ValidationError(Self.fixedEncoding(to)) }
  }

  private static func fixedEncoding(_ format: ExportFormat) -> String {
    "\(format.rawValue) has its own encoding: --encoding belongs to csv, tsv and text"
  }

  private var words: DocumentWords { extent.words }

  /// Returns whether the output's name is a file for one text rather than a folder.
  private func isOneText(_ path: String?, _ format: ExportFormat) throws -> Bool {
    guard format == .text, let path, path.lowercased().hasSuffix(".txt"), !InputFile.isDirectory(path) else {
      return false
    }
    guard !words.isPattern, words.words.count == 1 else {
      throw Failure.usage(
        "\(path) is a file, and texts go to a folder, a file each",
        hint: "name a folder (-o texts/), or one document")
    }
    return true
  }

  func run() throws {
    let path = output == InputFile.standardInput ? nil : output
    let format = try to ?? ExportFormat(outputPath: path, isTable: columns != nil || delimiter != nil)
    if !format.isDelimited, columns != nil || delimiter != nil {
      throw Failure.usage("--columns and --delimiter belong to csv and tsv, not to \(format.rawValue)")
    }
    if format.hasFixedEncoding, encoding != nil { throw Failure.usage(Self.fixedEncoding(format)) }
    if frontMatter, format != .text { throw Failure.usage("--front-matter belongs to --to text") }
    if attachments != nil, format != .ndjson, format != .json {
      throw Failure.usage(
        "--attachments belongs to ndjson and json"
          + (format == .text ? ": text writes attachments beside the texts" : ", not to \(format.rawValue)"))
    }
    let isOneText = try isOneText(path, format)
    // Make files and directories readable only by their owner, because the output is plaintext.
    umask(0o077)
    let store = try options.open(readOnly: true)
    var target: ExportTarget?
    var totals = Totals(
      leftOut: LeftOutParts(format, isOneText: isOneText, holdsContents: attachments != nil))
    do {
      try Interrupt.deferring {
        try store.read { reader in
          let wanted = words.isEmpty ? try Collections.covered(extent.collections, in: reader, of: store) : []
          if format.isTable, wanted.count > 1 {
            throw Failure.usage(
              "\(format.rawValue) takes one collection, and these are \(wanted.count): \(listed(wanted))",
              hint: "choose one with -c, or use ndjson")
          }
          var table = ExportTable(format, delimiter: delimiter?.byte)
          if format.isDelimited { table.columns = try tableColumns(wanted, in: reader, of: store) }
          let opened = try ExportTarget(
            path, format: format, options: writing, separatesCollections: wanted.count > 1,
            isForced: force, isOneText: isOneText, inputs: options.inputPaths,
            highestID: reader.highestID?.rawValue ?? 0, table: table, attachmentsPath: attachments)
          target = opened
          // From here on, a signal ends the export only after its temporary files are removed.
          try Interrupt.check()
          try write(wanted, reader, of: store, to: opened, isTable: format.isTable, &totals)
        }
      }
    } catch {
      target?.discard()
      throw Self.writing(error, to: path)
    }
    try target?.commit()
    try store.close()
    for path in target?.leftovers ?? [] {
      let word = Shell.quoted(path: path)
      options.common.diagnostics.warning(
        "\(path) is what was replaced, and isn't encrypted: if none of it is needed, chmod -R u+rwx \(word) && rm -r \(word)"
      )
    }
    if let note = totals.leftOut.note(format) { options.common.diagnostics.note(note) }
    if let path {
      if options.common.isMachineReadable {
        try Report([
          ("path", .string(path)), ("format", .string(format.rawValue)), ("documents", .integer(totals.documents)),
          ("attachments", totals.attachments > 0 ? .integer(totals.attachments) : nil),
          ("left_out", totals.leftOut.json),
        ]).print(as: options.common.listFormat)
      } else {
        options.common.diagnostics.note("\(counted(totals.documents, "document")) written to \(path)")
      }
    }
    if let attachments, !options.common.isMachineReadable {
      options.common.diagnostics.note(
        "the contents of \(counted(totals.attachments, "attachment")) written to \(attachments)")
    }
    if let mismatch = totals.mismatch { throw mismatch }
  }

  private struct Totals {
    var documents = 0
    var attachments = 0
    /// The error to throw after the output if the documents don't match the store's set hash or count.
    var mismatch: StoreError?
    var leftOut: LeftOutParts

    mutating func add(_ header: DocumentHeader) {
      documents += 1
      attachments += header.attachmentCount
      leftOut.add(header)
    }
  }

  private var writing: WritingOptions {
    var options = WritingOptions(encoding: encoding?.encoding ?? .utf8, byteOrderMark: encoding?.hasMark ?? false)
    options.frontMatter = frontMatter
    return options
  }

  /// Adds the output's name to a write error.
  private static func writing(_ error: any Error, to path: String?) -> any Error {
    guard let error = error as? FormatError, error.code == .unwritable, let number = error.systemError else {
      return error
    }
    return number == EPIPE ? ClosedPipe() : Failure.system(number, error.path ?? path ?? "standard output")
  }

  /// Returns the columns that the documents need, or the columns of `--columns`.
  private func tableColumns(
    _ wanted: [String], in reader: borrowing ReadTransaction, of store: DocumentStore
  ) throws -> TableColumns {
    var columns = TableColumns()
    if words.isEmpty {
      for name in wanted {
        do {
          try reader.forEachHeader(in: DocumentCollection(name)) {
            try Interrupt.check()
            columns.insert(columnsOf: $0)
          }
        } catch let error as StoreError {
          // The export compares the documents after the output, unless the user disabled the comparison.
          guard error.code == .setMismatch else { throw error }
        }
      }
    } else {
      for header in try words.existing(in: reader, of: store) { columns.insert(columnsOf: header) }
    }
    if let names = self.columns?.split(separator: ",", omittingEmptySubsequences: false) {
      try columns.narrow(to: names.map(String.init))
    }
    return columns
  }

  /// Writes the selected documents from one snapshot.
  private func write(
    _ wanted: [String], _ reader: borrowing ReadTransaction, of store: DocumentStore, to target: ExportTarget,
    isTable: Bool,
    _ totals: inout Totals
  ) throws {
    if !words.isEmpty {
      let headers = try words.existing(in: reader, of: store)
      return try write(headers, reader, target, isTable: isTable, &totals)
    }
    let known = try reader.collections()
    let total = known.reduce(0) { $0 + (wanted.containsExactly($1.name) ? $1.count : 0) }
    let bar = Progress("export", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    try target.sink.begin()
    func visit(_ document: OpenedDocument, _ name: String) throws {
      let done = totals.documents
      try target.sink.write(
        document.reporting {
          try Interrupt.check()
          bar.update(done, of: total)
        }, inCollection: name)
      totals.add(document.header)
      if totals.documents & 0xFF == 0 {
        try Interrupt.check()
        bar.update(totals.documents, of: total)
      }
    }
    totals.mismatch = try reader.forEach(in: wanted, isVerified: !unverified, visit)
    try target.sink.finish()
  }

  private func write(
    _ headers: [DocumentHeader], _ reader: borrowing ReadTransaction, _ target: ExportTarget, isTable: Bool,
    _ totals: inout Totals
  ) throws {
    let names = try Collections.names(in: reader)
    if isTable, Set(headers.map(\.collection)).count > 1 {
      throw Failure.usage("a table takes documents of one collection", hint: "use ndjson")
    }
    try target.sink.begin()
    for header in headers {
      try reader.withText(of: header.id) { document in
        let name = names[header.collection] ?? header.collection.description
        try target.sink.write(document.reporting { try Interrupt.check() }, inCollection: name)
        totals.add(document.header)
      }
      try Interrupt.check()
    }
    try target.sink.finish()
  }
}

extension OpenedDocument {
  /// Returns the same document with attachments that call `report` before each part of their contents.
  fileprivate func reporting(_ report: @escaping () throws -> Void) -> OpenedDocument {
    guard header.attachmentCount > 0 else { return self }
    return OpenedDocument(header: header, utf8: utf8) {
      try attachments().map { attachment in
        OpenedAttachment(
          name: attachment.name, mediaType: attachment.mediaType, date: attachment.date,
          byteCount: attachment.byteCount, sha256: attachment.sha256
        ) { body in
          try attachment.forEachPart { part in
            try report()
            try body(part)
          }
        }
      }
    }
  }
}
