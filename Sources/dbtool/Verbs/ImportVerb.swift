internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import Glibc

/// `import STORE INPUT…`: files to documents, in one transaction or in batches.
struct ImportVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Read documents from files into a collection.",
    discussion: """
      Text, lines, CSV, TSV, JSON and NDJSON, in UTF-8, UTF-16 or a code page; property lists and keyed archives; a \
      directory is a document for each of its files. One transaction for everything, unless --batch says otherwise: an error leaves the store as it was. A \
      title that the input does not give is the beginning of the text.

        dbtool import texts.coffer phrases.txt --create --key-file my.key
        dbtool import texts.coffer old.csv --encoding windows-1251 -c letters
        dbtool import texts.coffer list.tsv --map title=Name,text=Body
        dbtool export a.coffer | dbtool import b.coffer - --keep-ids
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: "Files or directories; '-' is standard input.")
  var inputs: [String]

  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp(
      "The collection, made if missing (default: what the input says, else documents).", valueName: "name"))
  var collection: String?

  @OptionGroup var reading: ReadingChoices

  @Flag(help: "At the top of the collection, in the input's order.")
  var top = false

  @Option(help: ArgumentHelp("Documents per transaction (default: all in one).", valueName: "n"))
  var batch: Int?

  @Flag(help: "Read everything, report, store nothing.")
  var dryRun = false

  @Flag(help: "Print the new ids, one a line.")
  var printIds = false

  @Flag(help: "Make the store if it is missing, as 'create' does; a failed import leaves no file.")
  var create = false

  @OptionGroup(title: "A new store (--create)") var creation: CreationOptions
  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if creation.isUsed, !create {
      throw ValidationError("--recipient, --label, --titles, --no-padding, --journal and --test belong to --create")
    }
    if top, batch != nil {
      throw ValidationError("--top keeps the input's order in one transaction: it does not go with --batch")
    }
    if let batch, batch < 1 { throw ValidationError("--batch takes a number from 1") }
  }

  func run() throws {
    try InputFile.requireOneStandardInput(inputs)
    for input in inputs where input != InputFile.standardInput {
      try InputFile.requireExisting(input)
    }
    let isNew = create && access(options.store.path, F_OK) != 0
    if isNew, options.store.access.expect != nil {
      throw Failure(
        .noStore, kind: "no-such-file",
        "no such file: \(options.store.path), so it is not the store that --expect names")
    }
    let outcome: ImportOutcome
    if dryRun {
      if !isNew { try options.open(readOnly: true).close() }
      outcome = try readOnly()
    } else if isNew {
      outcome = try importIntoNewStore()
    } else {
      if creation.isUsed {
        options.common.talk.warning("\(options.store.path) is there already: options for a new store change nothing")
      }
      let store = try options.open(readOnly: false)
      outcome = try importAll(into: store, isKeptOnFailure: true)
      try store.close()
    }
    try tell(outcome)
  }

  private func importIntoNewStore() throws -> ImportOutcome {
    let store = try creation.create(options)
    do {
      let outcome = try importAll(into: store, isKeptOnFailure: false)
      try store.close()
      return outcome
    } catch {
      try? store.close()
      for suffix in ["", "-journal", "-wal", "-shm"] {
        unlink(options.store.path + suffix)
      }
      throw error
    }
  }

  private func tell(_ outcome: ImportOutcome) throws {
    let attributes = outcome.inputs.flatMap(\.reading.attributeColumns)
    if !attributes.isEmpty {
      options.common.talk.note("kept as attributes: \(listed(Set(attributes).sorted()))")
    }
    let output = StandardOutput()
    if printIds {
      for range in outcome.ids {
        for id in range { try output.write(line: String(id)) }
      }
    }
    if options.common.isMachineReadable {
      try outcome.report(collection: collection).write(as: options.common.listFormat, to: output)
    } else {
      let lines = outcome.lines(isDryRun: dryRun)
      if printIds {
        lines.forEach(options.common.talk.note)
      } else if !options.common.quiet {
        for line in lines { try output.write(line: escapingControls(line)) }
      }
    }
    try output.flush()
    if outcome.rejected > 0 {
      throw Outcome(.partlyDone)
    }
  }
}

// MARK: - The walk

extension ImportVerb {
  private func makeQueue(_ count: CountingSource.Count) -> ImportQueue {
    let talk = options.common.talk
    return ImportQueue(paths: inputs) { path in
      try reading.open(path, count: count) { talk.finding("rejected: \($0.error)") }
    }
  }

  private func readOnly() throws -> ImportOutcome {
    let queue = makeQueue(CountingSource.Count())
    var outcome = ImportOutcome()
    var batch = DraftBatch()
    try Interrupt.deferring {
      _ = try queue.beginPortion(of: .max)
      while try queue.read(into: &batch) {
        outcome.countOnly(batch.drafts.count)
        batch.removeAll()
      }
    }
    outcome.inputs = queue.reports
    return outcome
  }

  /// - Parameter isKeptOnFailure: the store stays, and with it what earlier batches stored.
  private func importAll(into store: DocumentStore, isKeptOnFailure: Bool) throws -> ImportOutcome {
    let count = CountingSource.Count()
    let queue = makeQueue(count)
    let size = totalSize
    let bar = Progress("import", unit: "documents", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    var outcome = ImportOutcome()
    do {
      try Interrupt.deferring {
        var isFirst = true
        while try queue.beginPortion(of: batch ?? .max) || isFirst {
          isFirst = false
          let ids = IDCollector()
          var bulk = bulkOptions
          if printIds { bulk.onInsert = { ids.add($0) } }
          let before = outcome.created
          bulk.progress = { done in
            try Interrupt.check()
            bar.update(before + done, fraction: size.map { min(1, Double(count.value) / Double(max($0, 1))) })
          }
          let report = try store.write { writer in
            let report = try writer.insert(
              contentsOf: queue, into: collection.map { store.collection($0) }, options: bulk)
            // A counter that came with its ids goes on, so that numbers of deleted documents stay theirs.
            if reading.keepIds, let id = queue.highestID { try writer.reserveIDs(through: id) }
            return report
          }
          outcome.add(report, ids: ids.ranges)
        }
      }
    } catch {
      let failure = Failure(error)
      throw isKeptOnFailure ? failure.saying(stored: outcome.created) : failure
    }
    outcome.inputs = queue.reports
    return outcome
  }

  private var bulkOptions: BulkOptions {
    var bulk = BulkOptions()
    bulk.atTop = top
    bulk.keepsIDs = reading.keepIds
    bulk.titleRule = .derived
    return bulk
  }

  /// Bytes of all inputs, where every one of them has a size.
  private var totalSize: Int? {
    inputs.reduce(0) { total, input in
      guard let total, let size = InputFile.size(of: input) else { return nil }
      return total + size
    }
  }
}

extension Failure {
  /// The same failure, saying what earlier transactions have already stored.
  func saying(stored count: Int) -> Failure {
    guard count > 0 else { return self }
    return Failure(
      status, kind: kind, "\(message); \(counted(count, "document")) of earlier batches stored", hint: hint)
  }
}
