internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferText
internal import Glibc

/// `export STORE`: documents in order, to standard output, a file or a directory.
struct ExportVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write documents to standard output, a file, a directory or a new store.",
    discussion: """
      All of one moment, in order. NDJSON and JSON keep every fact; CSV and TSV keep id, title, text and key; plist \
      keeps id, title and text; text makes a file each, with an index.ndjson beside them; sqlite a plain database, a \
      table each. 'import --keep-ids' reads each back. The output is not encrypted: \
      files are made for you alone.

      A store is the exception: it is sealed for the recipients and keys given, with an identity of its own and never \
      with this store's key, so that it can be handed to somebody. Its pin goes to them by another way.

        dbtool export texts.coffer --key-file my.key > all.ndjson
        dbtool export texts.coffer -c notes -o notes.csv
        dbtool export texts.coffer --all --to text -o texts/
        dbtool export texts.coffer -c news -o customer.coffer --recipient coffer-recipient-1-…
      """)

  @OptionGroup var options: StoreOptions

  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A collection (repeatable; default: documents).", valueName: "name"))
  var collections: [String] = []

  @Flag(help: "All collections.")
  var all = false

  @Option(name: .customLong("id"), help: ArgumentHelp("This document (repeatable).", valueName: "n"))
  var ids: [Int64] = []

  @Option(help: ArgumentHelp("The format (default: by -o's extension, else ndjson).", valueName: "format"))
  var to: ExportFormat?

  @Option(
    name: .shortAndLong, help: ArgumentHelp("The file, or the directory for text.", valueName: "path"),
    completion: .file())
  var output: String?

  @Option(help: ArgumentHelp("The encoding of csv, tsv and text (default: utf-8).", valueName: "encoding"))
  var encoding: OutputEncodingName<UnicodeEncoding>?

  @Flag(help: "Begin csv, tsv and text with a byte order mark.")
  var bom = false

  @Flag(help: "Replace an existing output; a store only if nobody has it open.")
  var force = false

  @OptionGroup var newStore: NewStoreOptions
  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if [!collections.isEmpty, all, !ids.isEmpty].count(where: { $0 }) > 1 {
      throw ValidationError("give -c, --all or --id: one of them")
    }
    if let to, to.hasFixedEncoding, encoding != nil || bom {
      throw ValidationError("\(to.rawValue) has its own encoding: --encoding and --bom belong to csv, tsv and text")
    }
  }

  func run() throws {
    let path = output == InputFile.standardInput ? nil : output
    let format = try to ?? ExportFormat(outputPath: path)
    if format.hasFixedEncoding, encoding != nil || bom {
      throw Failure.usage(
        "\(format.rawValue) has its own encoding: --encoding and --bom belong to csv, tsv and text")
    }
    if format == .store { return try exportStore(to: path) }
    if newStore.isUsed {
      throw Failure.usage("keys, --recipient and what a store is made as belong to --to store")
    }
    if format.isTable, all || collections.count > 1 {
      throw Failure.usage("\(format.rawValue) takes one collection", hint: "use ndjson, or -c NAME for one")
    }
    // The output is plaintext: files and directories are readable by their owner alone.
    umask(0o077)
    let store = try options.open(readOnly: true)
    let target = try ExportTarget(
      path, format: format, options: writing, separatesCollections: all || collections.count > 1, isForced: force,
      store: options.store.path, highestID: try store.read { $0.highestID?.rawValue ?? 0 })
    let count: Int
    do {
      count = try Interrupt.deferring { try write(store, to: target, isTable: format.isTable) }
    } catch {
      target.discard()
      throw Self.writing(error, to: path)
    }
    try target.commit()
    try store.close()
    if let path {
      if options.common.isMachineReadable {
        try Report([("path", .string(path)), ("format", .string(format.rawValue)), ("documents", .integer(count))])
          .print(as: options.common.listFormat)
      } else {
        options.common.diagnostics.note("\(counted(count, "document")) written to \(path)")
      }
    }
  }

  private var writing: WritingOptions {
    WritingOptions(encoding: encoding?.encoding ?? .utf8, byteOrderMark: bom)
  }

  /// Adds the output's name to an error of writing.
  private static func writing(_ error: any Error, to path: String?) -> any Error {
    guard let error = error as? FormatError, error.code == .unwritable, let number = error.systemError else {
      return error
    }
    return number == EPIPE ? ClosedPipe() : Failure.system(number, error.path ?? path ?? "standard output")
  }

  /// Writes the selected documents, all from one snapshot.
  ///
  /// - Returns: how many documents.
  private func write(_ store: DocumentStore, to target: ExportTarget, isTable: Bool) throws -> Int {
    try store.read { reader in
      let known = try reader.collections()
      var count = 0
      if !ids.isEmpty {
        try writeByID(known, reader, target, isTable: isTable)
        return ids.count
      }
      let wanted = all ? known.map(\.name) : try Collections.named(collections, in: reader, of: store)
      let total = known.reduce(0) { $0 + (wanted.contains($1.name) ? $1.count : 0) }
      let bar = Progress("export", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
      defer { bar.finish() }
      try target.sink.begin()
      for name in wanted {
        try reader.forEach(in: store.collection(name)) { document in
          try target.sink.write(document, inCollection: name)
          count += 1
          if count & 0xFF == 0 {
            try Interrupt.check()
            bar.update(count, of: total)
          }
        }
      }
      try target.sink.finish()
      return count
    }
  }

  private func writeByID(
    _ known: [CollectionInfo], _ reader: borrowing StoreReader, _ target: ExportTarget, isTable: Bool
  ) throws {
    let names = Collections.names(known)
    let headers = try ids.map { try reader.header(of: DocumentID($0)) }
    if isTable, Set(headers.map(\.collection)).count > 1 {
      throw Failure.usage("a table takes documents of one collection", hint: "use ndjson")
    }
    try target.sink.begin()
    for header in headers {
      try reader.withText(of: header.id) { document in
        let name = names[header.collection] ?? header.collection.description
        try target.sink.write(document, inCollection: name)
      }
      try Interrupt.check()
    }
    try target.sink.finish()
  }
}
