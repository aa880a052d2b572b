internal import ArgumentParser
internal import Coffer

/// `rekey STORE`: new keys at once, then every document under them, batch by batch.
struct RekeyVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rekey",
    abstract: "Change a store's root key and re-encrypt every document.",
    discussion: """
      The keys change at once; documents follow in batches, while others read and write. Safe to interrupt at any \
      time: --resume goes on. Without --new-… the same secret opens the new root key. Slots of other secrets need \
      those secrets (key options repeat), or --drop-slots; recipients need none. --titles changes on the way how titles \
      are kept: sealed, clear (whoever has the file reads them), or none, which drops every title for good.

        dbtool rekey texts.coffer --key-file old.key --new-key-file new.key
        dbtool rekey texts.coffer --key-file my.key --titles sealed
        dbtool rekey texts.coffer --key-file my.key --status
        dbtool rekey texts.coffer --key-file my.key --resume
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "New key") var newKeys: KeyOptions<NewFamily>

  @Flag(help: "Stop after the change of keys.")
  var keysOnly = false

  @Flag(help: "Go on with a rekey that was interrupted.")
  var resume = false

  @Flag(help: "Say how far a rekey is; exit code 23 while documents remain under old keys.")
  var status = false

  @Flag(help: "Remove the slots whose secrets are not given.")
  var dropSlots = false

  @Option(help: ArgumentHelp("Documents per transaction.", valueName: "n"))
  var batch: Int?

  @Option(help: ArgumentHelp("Keep titles like this from now on; none drops them.", valueName: "mode"))
  var titles: CreationOptions.Titles?

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if status, resume || keysOnly || dropSlots || titles != nil || !newKeys.isEmpty {
      throw ValidationError("--status changes nothing, and goes with no option that does")
    }
    if resume, keysOnly || dropSlots || !newKeys.isEmpty {
      throw ValidationError("--resume goes on with the keys as they are")
    }
    if titles != nil, keysOnly || resume {
      throw ValidationError(
        "--titles changes documents as a whole rekey comes to them: without --keys-only or --resume")
    }
    if let batch, batch < 1 { throw ValidationError("--batch takes a number from 1") }
  }

  func run() throws {
    if status { return try printStatus() }
    let keys = try options.openingKeys()
    let store = try options.open(with: .anyOf(keys), readOnly: false, wait: nil)
    var rekey = RekeyOptions()
    rekey.isKeysOnly = keysOnly
    rekey.isResuming = resume
    rekey.dropsOtherSlots = dropSlots
    rekey.otherKeys = keys
    if let batch { rekey.batchSize = batch }
    if let titles { rekey.changeTitles(to: titles.mode) }
    let replacements = try newKeys.inOrder.map {
      try $0.newKey(for: options.store.path, policy: options.policy, prefix: NewFamily.prefix)
    }
    let bar = Progress("rekey", unit: "documents", style: progress.progress, isQuiet: options.common.quiet)
    let report: RekeyReport
    var isWaiting = false
    do {
      report = try Interrupt.deferring {
        try store.rekey(to: replacements, options: rekey) { step in
          bar.update(step.done, of: step.total)
          if step.phase == .waiting, !isWaiting {
            isWaiting = true
            options.common.diagnostics.note("waiting for a reader that keeps old pages in the write-ahead log")
          }
          try Interrupt.check()
        }
      }
    } catch {
      bar.finish()
      throw Failure(error)
    }
    bar.finish()
    try store.close()
    try printReport(report)
  }

  private func printReport(_ report: RekeyReport) throws {
    for skipped in report.skipped {
      options.common.diagnostics.finding("document \(skipped.id) stays under its old key: \(skipped.reason)")
    }
    try Report([
      ("documents", .integer(report.documents)),
      ("skipped", .array(report.skipped.map { .integer($0.id.rawValue) })),
      ("finished", .bool(report.isFinished)),
      ("pin", .string(report.pin)),
    ]).print(as: options.common.listFormat)
    if !report.setMatches {
      throw Failure(
        .mismatch, kind: "set-mismatch", "the documents are not the set that was written: the old keys are kept",
        hint: "verify says more")
    }
    if !report.skipped.isEmpty {
      throw Failure(
        .partlyDone, kind: "partly-done",
        "what does not open stays under old keys: \(counted(report.skipped.count, "document"))",
        hint: "restore or remove them, then rekey --resume")
    }
  }

  private func printStatus() throws {
    let store = try options.open(readOnly: true)
    let status = try store.rekeyStatus()
    try store.close()
    try Report([
      ("finished", .bool(!status.isUnfinished && !status.hasOldPages)),
      ("remaining", .integer(status.remaining)),
      ("documents", .integer(status.total)),
      ("epochs", .array(status.epochs.map { .integer(Int64($0)) })),
    ]).print(as: options.common.listFormat)
    if status.hasOldPages, !status.isUnfinished {
      options.common.diagnostics.note(
        "old pages remain in the write-ahead log: close its readers, and go on with rekey --resume")
      throw Outcome(.rekeyUnfinished)
    }
    if status.isUnfinished {
      options.common.diagnostics.note("documents remain under old keys: go on with rekey --resume")
      throw Outcome(.rekeyUnfinished)
    }
  }
}
