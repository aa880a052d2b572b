internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal

/// `import STORE INPUT…`: imports files as documents, in one transaction or in batches.
struct ImportVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Import documents from files, folders or standard input.",
    discussion: """
      Detects and reports format, encoding, delimiter and header. Reads text, lines, CSV, TSV, JSON, NDJSON, property \
      lists, keyed archives and SQLite databases. Converts UTF-16 and code pages to UTF-8. Each file in a folder \
      becomes a document with its path as key, and an export's folder also provides its attachments. If anything \
      fails, nothing is stored.

        dbtool import --create texts.coffer phrases.txt -k my.key
        dbtool import texts.coffer old.csv --encoding windows-1251 -c letters
        dbtool import texts.coffer list.tsv --map title=Name,text=Body
        dbtool export a.coffer | dbtool import b.coffer - --keep-ids
        dbtool import texts.coffer books.csv -c books --sync --delete
      """)

  @OptionGroup var options: StoreOptions

  @Argument(
    help: ArgumentHelp("Files or folders, or '-' for standard input.", valueName: "input"), completion: .file())
  var inputs: [String]

  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp(
      "The collection, created if missing (default: from each record, else the only collection).", valueName: "name"))
  var collection: String?

  @OptionGroup var reading: ReadingChoices
  @OptionGroup var conflicts: ConflictChoices

  @Option(
    help: ArgumentHelp(
      "The file for skipped records. Requires a single input, and --on-error is then skip.", valueName: "file"),
    completion: .file())
  var rejects: String?

  @Flag(name: [.customShort("n"), .long], help: "Read and report everything without storing it.")
  var dryRun = false

  @Flag(help: "Create the store if it is missing, like 'create'. A failed import doesn't leave a file.")
  var create = false

  @OptionGroup(title: "More") var portions: ImportPortions
  @OptionGroup(title: "With --create") var recipients: RecipientOptions
  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if !recipients.isEmpty, !create { throw ValidationError("--recipient and --recipients-file belong to --create") }
    if conflicts.sync, portions.batch != nil {
      throw ValidationError("--sync is one transaction: it does not go with --batch")
    }
    if rejects != nil {
      if inputs.count != 1 { throw ValidationError("--rejects takes one input") }
      if let mode = reading.more.onError, mode != .skip {
        throw ValidationError("--rejects is for records that are skipped: it goes with --on-error skip only")
      }
    }
  }

  func run() throws {
    try InputFile.requireOneStandardInput(inputs)
    for input in inputs where input != InputFile.standardInput {
      do {
        try InputFile.requireExisting(input)
      } catch let failure as Failure {
        guard let hint = StoreWord.environmentHint else { throw failure }
        throw Failure(failure.status, kind: failure.kind, failure.message, hint: hint)
      }
    }
    let isNew = create && access(options.store.path, F_OK) != 0
    if isNew, options.store.access.expect != nil {
      throw Failure(
        .noStore, kind: "no-such-file",
        "no such file: \(options.store.path), so it is not the store that --pin names")
    }
    let (outcome, rejects) = try importing(isNew: isNew)
    try rejects?.commit()
    try printReport(outcome)
  }

  private func importing(isNew: Bool) throws -> (ImportOutcome, RejectsFile?) {
    let rejects = try rejects.map { try RejectsFile(at: $0, input: inputs[0], store: options.store.path) }
    do {
      return (try run(ImportRunner(self, rejects), isNew: isNew), rejects)
    } catch {
      rejects?.end()
      guard isNew, (error as? StoreError)?.code == .alreadyExists, access(options.store.path, F_OK) == 0 else {
        throw error
      }
      guard !inputs.contains(InputFile.standardInput) else {
        throw Failure(
          .failed, kind: "already-exists", "\(options.store.path) was made by another process meanwhile",
          hint: "give the input again: it is added to that store")
      }
      // Another process has created the store, so import into it.
      return try importing(isNew: false)
    }
  }

  private func run(_ runner: ImportRunner, isNew: Bool) throws -> ImportOutcome {
    if isNew { return try dryRun ? importIntoTemporaryStore(runner) : importIntoNewStore(runner) }
    if !recipients.isEmpty {
      options.common.diagnostics.warning(
        "\(options.store.path) already exists, and no recipient is added: 'dbtool key add' does that")
    }
    let store = try options.open(readOnly: false)
    let outcome = try runner.store(in: store, isKeptOnFailure: true)
    try store.close()
    return outcome
  }

  /// Creates the store at its path when the import is complete. Never replaces a file created during the import.
  private func importIntoNewStore(_ runner: ImportRunner) throws -> ImportOutcome {
    try Interrupt.deferring {
      try options.create(for: recipients) { try runner.store(in: $0, isKeptOnFailure: false) }
    }
  }

  /// Reports the same as an import into a new store, for a dry run without a store. Doesn't need a key.
  private func importIntoTemporaryStore(_ runner: ImportRunner) throws -> ImportOutcome {
    try Interrupt.deferring {
      let store = try Cancellation.ignoring { try DocumentStore.temporary() }
      defer { try? store.close() }
      return try runner.store(in: store, isKeptOnFailure: false)
    }
  }

  private func printReport(_ outcome: ImportOutcome) throws {
    for input in outcome.inputs {
      guard let reason = input.reading.privateCopy else { continue }
      let isStream = input.path == InputFile.standardInput
      options.common.diagnostics.note(
        "\(InputFile.described(input.path)) was copied to a private temporary file, now deleted"
          + (isStream ? "" : ", because \(reason)"))
    }
    for input in outcome.inputs where !input.reading.generatedColumns.isEmpty {
      let columns = input.reading.generatedColumns
      options.common.diagnostics.note(
        "generated \(columns.count == 1 ? "column" : "columns") left out of \(input.path): "
          + columns.joined(separator: ", "))
    }
    if let note = Collections.note(
      new: outcome.newCollections, beside: outcome.collectionsBefore, isNamed: collection != nil)
    {
      options.common.diagnostics.note(note)
    }
    if outcome.parentsDropped > 0 {
      let lacking = counted(outcome.parentsDropped, "document")
      options.common.diagnostics.note(
        reading.more.keepIds
          ? "\(lacking) without the parent that the input names: it isn't in the same collection"
          : "\(lacking) without the parent that the input names: --keep-ids keeps ids and parents")
    }
    outcome.inputs.compactMap(\.columnDetails).forEach { options.common.diagnostics.detail($0) }
    outcome.inputs.compactMap(\.columnNote).forEach(options.common.diagnostics.note)
    outcome.inputs.compactMap(\.attachmentNote).forEach(options.common.diagnostics.note)
    outcome.inputs.compactMap(\.passedOverNote).forEach(options.common.diagnostics.note)
    outcome.inputs.compactMap(\.emptyNote).forEach(options.common.diagnostics.note)
    let output = StandardOutput()
    if options.common.isMachineReadable {
      try outcome.report(collection: collection).write(as: options.common.listFormat, to: output)
    } else {
      let lines = outcome.lines(isDryRun: dryRun, isSync: conflicts.sync, isVerbose: options.common.verbose)
      if !options.common.quiet {
        for line in lines { try output.write(line: escapingControls(line)) }
      }
    }
    try output.flush()
    if outcome.rejected > 0 {
      throw Outcome(.partlyDone)
    }
  }
}

/// The options for the transactions of an import.
struct ImportPortions: ParsableArguments {
  @Option(help: ArgumentHelp("Documents per transaction (default: all).", valueName: "n"))
  var batch: Int?

  func validate() throws {
    if let batch, batch < 1 { throw ValidationError("--batch takes a number from 1") }
  }
}
