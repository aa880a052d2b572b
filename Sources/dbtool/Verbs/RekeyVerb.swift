internal import ArgumentParser
internal import Coffer

/// `rekey STORE`: changes the keys immediately, and then re-encrypts every document in batches.
struct RekeyVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rekey",
    abstract: "Change the root key and re-encrypt every document.",
    discussion: """
      The keys change immediately. Documents follow in batches while others read and write. You can interrupt a rekey \
      at any time and continue it with --resume. Without --new-…, my.key still opens this store, so give \
      --new-key-file after a leak. Slots with other secrets need those secrets (repeat the key options), or \
      --drop-slots. A recipient needs its identity, or --keep-recipient with its slot or line. Compare fingerprints \
      first ('key list'). At its start, a rekey prints the pin that the store has at the end. --titles also changes \
      how titles are stored: sealed, clear (readable by anyone who has the file), or none, which permanently drops \
      every title.

        dbtool rekey texts.coffer --key-file old.key --new-key-file new.key
        dbtool rekey texts.coffer --key-file my.key --keep-recipient 3
        dbtool rekey texts.coffer --key-file my.key --titles sealed
        dbtool rekey texts.coffer --key-file my.key --status
        dbtool rekey texts.coffer --key-file my.key --resume
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "New key") var newKeys: KeyOptions<NewFamily>

  @Flag(help: "Stop after changing the keys.")
  var keysOnly = false

  @Flag(help: "Resume an interrupted rekey (exit code 1 if there is none).")
  var resume = false

  @Flag(
    help: "Show a rekey's progress with the proved pin (exit code 23 if it is unfinished, 1 if no rekey is unfinished)."
  )
  var status = false

  @Flag(help: "Remove slots whose secrets aren't given, and recipients that aren't kept.")
  var dropSlots = false

  @Option(
    name: .customLong("keep-recipient"),
    help: ArgumentHelp(
      "Keep a recipient without its identity, by slot or line (repeatable). Use all to keep and list every recipient.",
      valueName: "slot|recipient|all"))
  var keptRecipients: [String] = []

  @Option(help: ArgumentHelp("Documents per transaction.", valueName: "n", visibility: .hidden))
  var batch: Int?

  @Option(help: ArgumentHelp("How to store titles from now on. Use none to drop titles.", valueName: "mode"))
  var titles: CreationOptions.Titles?

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    try Recipient.requirePublic(keptRecipients, option: "--keep-recipient")
    if let invalid = keptRecipients.first(where: { !Self.isSlot($0) && !Self.isLine($0) && $0 != Self.all }) {
      throw ValidationError("--keep-recipient takes the number of a slot, a recipient's line or all, not '\(invalid)'")
    }
    if keptRecipients.contains(Self.all), keptRecipients.count > 1 {
      throw ValidationError("--keep-recipient all keeps every one: leave out the others")
    }
    let changesSlots = dropSlots || !keptRecipients.isEmpty || !newKeys.isEmpty
    if status, resume || keysOnly || changesSlots || titles != nil {
      throw ValidationError("--status changes nothing, and goes with no option that does")
    }
    if resume, keysOnly || changesSlots {
      throw ValidationError("--resume goes on with the keys as they are")
    }
    if titles != nil, keysOnly || resume {
      throw ValidationError("--titles needs a whole rekey: it does not go with --keys-only or --resume")
    }
    if let batch, batch < 1 { throw ValidationError("--batch takes a number from 1") }
  }

  private static let all = "all"

  private static func isSlot(_ text: String) -> Bool { Int(text).map { $0 > 0 } ?? false }

  private static func isLine(_ text: String) -> Bool {
    text.hasPrefix("coffer-recipient-") || text.hasPrefix("coffer-test-recipient-")
  }

  func run() throws {
    if status { return try printStatus() }
    let key = try options.openingKey()
    defer { key.forget() }
    let store = try options.open(with: key, readOnly: false, wait: nil, acceptsUnfinishedRekey: resume)
    var rekey = RekeyOptions()
    rekey.isKeysOnly = keysOnly
    rekey.isResuming = resume
    rekey.dropsOtherSlots = dropSlots
    rekey.otherKeys = [key]
    rekey.keepsAllRecipients = keptRecipients == [Self.all]
    rekey.keptRecipients = try keptRecipients.filter { $0 != Self.all }.map { text throws -> RekeyOptions.Kept in
      if let slot = Int(text) { .slot(slot) } else { .recipient(try Recipient(text)) }
    }
    if let batch { rekey.batchSize = batch }
    if let titles { rekey.changeTitles(to: titles.mode) }
    let replacements = try newKeys.inOrder.map {
      try $0.newKey(for: options.store.path, policy: options.policy, prefix: NewFamily.prefix, recipients: nil)
    }
    let bar = Progress("rekey", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    let report: RekeyReport
    var isWaiting = false
    var hasNewKeys = false
    do {
      report = try Interrupt.deferring(inSteps: true) {
        try store.rekey(
          to: replacements, options: rekey,
          progress: { step in
            bar.update(step)
            if step.phase == .waiting, !isWaiting {
              isWaiting = true
              options.common.diagnostics.note("waiting for a reader that keeps old pages in the write-ahead log")
            }
            try Interrupt.check()
          },
          onKeys: { unchangedSlots, finalPin in
            if let finalPin {
              hasNewKeys = true
              // Erase the secrets now, because the keys have changed and re-encrypting documents doesn't need them.
              for key in replacements + [key] { key.forget() }
              options.common.diagnostics.note("pin at the end of this rekey: \(finalPin)")
            } else {
              noteUnchanged(unchangedSlots)
            }
          })
      }
    } catch {
      bar.finish()
      throw failure(error, hasNewKeys: hasNewKeys, in: store)
    }
    bar.finish()
    try store.close()
    try printReport(report)
  }

  /// Returns the failure with the exit code of an unfinished rekey if the keys have changed, because the code of a
  /// general failure means that the store is unchanged.
  private func failure(_ error: any Error, hasNewKeys: Bool, in store: DocumentStore) -> Failure {
    let failure = Failure(error)
    if hasNewKeys, failure.status == .failed {
      return Failure(.rekeyUnfinished, kind: "rekey-unfinished", failure.message, hint: failure.hint)
    }
    // The user of a new key can have forgotten the option.
    guard failure.status == .keyNeeded, !resume, (try? store.rekeyStatus().needsResuming) == true else {
      return failure
    }
    let other = failure.hint.map { "; for another rekey, \($0)" } ?? ""
    return Failure(
      failure.status, kind: failure.kind, "\(options.store.path) has an unfinished rekey; \(failure.message)",
      hint: "finish it with rekey --resume" + other)
  }

  /// Prints the keys that will still open the store, before the first write.
  private func noteUnchanged(_ slots: [KeySlot]) {
    let diagnostics = options.common.diagnostics
    for slot in slots {
      let label = slot.label.isEmpty ? "" : " (\(slot.label))"
      let fingerprint = slot.fingerprint.map { ", fingerprint \($0)" } ?? ""
      let words = "slot \(slot.slot), \(slot.kindName)\(fingerprint)\(label)"
      let keys = options.givenKeys.filter { $0.mayOpen(slot) }.map(\.words)
      if slot.kind == .recipient, !slot.opened {
        diagnostics.note("\(words): kept for \(slot.detail)")
      } else if keys.count == 1 {
        diagnostics.note("\(keys[0].key) still opens this store; after a leak give \(keys[0].newOption)")
      } else {
        diagnostics.note("\(words): the same key still opens this store; after a leak give --new-key-file")
      }
    }
  }

  private func printReport(_ report: RekeyReport) throws {
    for skipped in report.skipped {
      options.common.diagnostics.finding("document \(skipped.id) stays under its old key: \(skipped.reason)")
    }
    for skipped in report.skippedAttachments {
      options.common.diagnostics.finding(
        "attachment \(skipped.id) of document \(skipped.document) stays under its old key: \(skipped.reason)")
    }
    try Report([
      ("documents", .integer(report.documents)),
      ("skipped", .array(report.skipped.map { .integer($0.id.rawValue) })),
      (
        "skipped_attachments",
        report.skippedAttachments.isEmpty
          ? nil : .array(report.skippedAttachments.map { .integer($0.id.rawValue) })
      ),
      ("finished", .bool(report.isFinished)),
      ("pin", .string(report.pin.description)),
      ("final_pin", report.isFinished ? nil : .string(report.finalPin.description)),
    ]).print(as: options.common.listFormat)
    if report.isSyncing {
      options.common.diagnostics.note(
        "the folder that the store syncs through keeps its keys: after a leak, run 'sync leave' on every device, and "
          + "'sync init' with a new folder")
    }
    if !report.setMatches {
      throw Failure(
        .mismatch, kind: "set-mismatch", "the documents are not the set that was written: the old keys are kept",
        hint: "verify says more")
    }
    let skipped = [(report.skipped.count, "document"), (report.skippedAttachments.count, "attachment")]
      .filter { $0.0 > 0 }
    if !skipped.isEmpty {
      let things = skipped.map { counted($0.0, $0.1) }.joined(separator: " and ")
      let verb = skipped.count == 1 && skipped[0].0 == 1 ? "stays" : "stay"
      throw Failure(
        .partlyDone, kind: "partly-done", "\(things) could not be opened and \(verb) under the old keys",
        hint: "remove them, finish with rekey --resume, and restore them from a backup with restore --allow-rekey")
    }
  }

  private func printStatus() throws {
    let key = try options.openingKey()
    defer { key.forget() }
    let store = try options.open(with: key, readOnly: true, acceptsUnfinishedRekey: true)
    let status = try store.rekeyStatus()
    try store.close()
    try Report([
      ("finished", .bool(!status.needsResuming)),
      ("remaining", .integer(status.remaining)),
      ("documents", .integer(status.total)),
      ("epochs", .array(status.epochs.map { .integer(Int64($0)) })),
      ("pin", .string(status.pin.description)),
      ("final_pin", status.isFinished ? nil : .string(status.finalPin.description)),
    ]).print(as: options.common.listFormat)
    if status.hasOldPages, status.isFinished {
      options.common.diagnostics.note(
        "old pages remain in the write-ahead log: close its readers, and go on with rekey --resume")
      throw Outcome(.rekeyUnfinished)
    }
    if !status.isFinished {
      options.common.diagnostics.note(
        status.remaining > 0
          ? "documents remain under old keys: go on with rekey --resume"
          : "all documents are under the new key, but the old keys remain: go on with rekey --resume")
      throw Outcome(.rekeyUnfinished)
    }
    throw Failure(.noUnfinishedRekey(options.store.path))
  }
}
