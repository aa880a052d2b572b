internal import ArgumentParser
internal import Coffer
internal import CofferFoundation

/// `salvage STORE -o NEW`: every readable document of a damaged store into a new one, the rest listed.
struct SalvageVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage",
    abstract: "Bring what can be read of a damaged store into a new one.",
    discussion: """
      Every document that is still the one that was written goes into a new store with an identity and keys of its \
      own; the others are listed by id with the reason, and the exit code is 3. The damaged store is only read. Keys \
      without --new- open the damaged store; those with it, and recipients, are for the new one. It needs the header \
      of the old store or its spare copy, one slot that opens, and a place to write.

        dbtool salvage broken.coffer -o saved.coffer --key-file my.key --new-key-file my.key
        dbtool salvage broken.coffer -o saved.coffer --key-file my.key --recipient coffer-recipient-1-…
      """)

  @OptionGroup var options: StoreOptions

  @Option(
    name: .shortAndLong, help: ArgumentHelp("The new store; never an existing file.", valueName: "new"),
    completion: .file())
  var output: String

  @OptionGroup var newStore: NewStoreOptions
  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func run() throws {
    let slots = try newStore.newSlots(for: output, policy: options.policy)
    let bar = Progress("salvage", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let report = try Interrupt.deferring {
      try DocumentStore.salvage(
        at: options.store.url, key: .anyOf(options.openingKeys()), to: URL(filePath: output),
        keys: slots.keys, recipients: slots.recipients,
        changing: { $0 = try newStore.creation.creation($0, slots: slots.count) }, options: options.openOptions(true),
        progress: { step in
          bar.update(step)
          try Interrupt.check()
        })
    }
    bar.finish()
    try printReport(report)
  }

  private func printReport(_ report: CopyReport) throws {
    let diagnostics = options.common.diagnostics
    if report.isTest { diagnostics.warning("\(output) is a TEST store: its keys may be published") }
    for left in report.leftOut { diagnostics.finding("left behind: \(left.reason)") }
    for number in report.namedByNumber {
      diagnostics.finding(
        "the name of collection \(number) is lost: its documents are in 'collection \(number.rawValue)'")
    }
    for problem in report.problems { diagnostics.finding(problem) }
    try Report([
      ("path", .string(output)),
      ("documents", .integer(report.documents)),
      ("expected", report.expected.map { .integer($0) }),
      ("set", .string(report.setMatches.map { $0 ? "matches" : "differs" } ?? "unknown")),
      (
        "left",
        .array(
          report.leftOut.map { left in
            .object([("id", .integer(left.id.rawValue)), ("reason", .string(left.reason))])
          })
      ),
      ("named_by_number", .array(report.namedByNumber.map { .string($0.description) })),
      ("problems", .array(report.problems.map { .string($0) })),
      ("store_id", .string(report.storeID)),
      ("pin", .string(report.pin.description)),
    ]).print(as: options.common.listFormat)
    guard !report.isComplete else { return }
    let documents = counted(report.documents, "document")
    throw Failure(
      .partlyDone, kind: "partly-done",
      report.expected.map { "\(documents) of \($0) salvaged" } ?? "\(documents) salvaged, out of an unknown number",
      hint: "look for the rest in a backup")
  }
}
