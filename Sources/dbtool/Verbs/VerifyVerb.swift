internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferTerminal

/// `verify STORE`: opens every document and compares the set with the sealed state, or checks less.
struct VerifyVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Verify that a store is intact, and save or compare anchors.",
    discussion: """
      Opens every document and compares the set with the sealed state. A complete older copy of the file passes unless \
      an anchor records a newer state. Save an anchor after each session, in a location that people who can replace \
      the store can't write to.

      --keyless doesn't need a key and doesn't prove anything. It checks schema, lengths and SQLite's integrity.

        dbtool verify texts.coffer
        dbtool verify texts.coffer --save-anchor ~/anchors/texts
        dbtool verify texts.coffer --quick --anchor ~/anchors/texts
        dbtool verify texts.coffer --keyless
      """)

  @OptionGroup var options: StoreOptions

  @Flag(help: "Check only the set and SQLite's integrity, and open no document. With --keyless, skip the indexes.")
  var quick = false

  @Flag(help: "Check the structure without a key or proof.")
  var keyless = false

  @Flag(help: "Compare or save the anchor without further verification.")
  var anchorOnly = false

  @OptionGroup var anchor: AnchorOptions

  @Option(
    help: ArgumentHelp(
      "If the store is intact, save the verified state's anchor to a file, or print only it (-).", valueName: "file"),
    completion: .file())
  var saveAnchor: String?

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  private var store: StoreArgument { options.store }
  private var common: CommonOptions { options.common }

  func validate() throws {
    let usesAnchor = anchor.anchor != nil || saveAnchor != nil
    if keyless, usesAnchor || anchorOnly {
      throw ValidationError("an anchor needs a key: leave out --keyless")
    }
    if anchorOnly, !usesAnchor { throw ValidationError("--anchor-only belongs to --anchor or --save-anchor") }
    if anchorOnly, quick { throw ValidationError("--anchor-only verifies nothing: leave out --quick") }
  }

  func run() throws {
    if keyless { return try checkStructure() }
    let kept = try anchor.given()
    let store = try options.open(readOnly: true)
    if anchorOnly { return try compareAnchor(kept, store) }
    let bar = Progress("verify", unit: "document", style: progress.progress, isQuiet: common.quiet)
    defer { bar.finish() }
    let verdict = try store.verify(
      quick ? .quick : .full, against: kept, requiring: anchor.requirement, allowingRekey: anchor.allowRekey
    ) { step in
      bar.update(step)
    }
    bar.finish()
    let pin = store.pin
    try store.close()
    let state = verdict.isSound ? verdict.verifiedState : nil
    try finish(report(verdict, pin: pin), saving: state)
    note(verdict.unusableSlots)
    if let error = verdict.error {
      throw Failure(error)
    }
  }

  /// Checks the structure without a key.
  private func checkStructure() throws {
    try store.requireExpected()
    let report = try DocumentStore.check(at: store.url, isQuick: quick, wait: store.access.waitingTime())
    if common.isMachineReadable || report.problems.isEmpty {
      try Report([
        ("structure", .string(report.problems.isEmpty ? "sound" : "damaged")),
        ("problems", .array(report.problems.map { .string($0) })),
        ("unusable_slots", report.unusableSlots.facts),
      ]).print(as: common.listFormat)
    } else {
      let output = StandardOutput()
      for problem in report.problems {
        try output.write(line: escapingControls(problem))
      }
      try output.flush()
    }
    note(report.unusableSlots)
    guard report.problems.isEmpty else {
      throw Failure(
        .damaged, kind: "damaged", "\(store.path) is damaged: \(counted(report.problems.count, "problem"))",
        hint:
          "restore it from a backup, or 'copy --salvage' what can be read; 'verify' says which documents can be trusted"
      )
    }
  }

  /// Notes the slots that can't be opened. They don't count as damage.
  private func note(_ slots: [KeySlot]) {
    guard !common.isMachineReadable else { return }
    for slot in slots {
      common.diagnostics.note("\([slot].faults); rekey --drop-slots drops it")
    }
  }

  private func compareAnchor(_ kept: StoreAnchor?, _ store: DocumentStore) throws {
    let relation = try kept.map {
      try store.relation(to: $0, requiring: anchor.requirement, allowingRekey: anchor.allowRekey)
    }
    let state = saveAnchor == nil ? nil : try store.anchor()
    try store.close()
    try finish([("anchor", relation.map { .string($0.words) })], saving: state)
  }

  /// Saves the anchor and prints the report. If the anchor goes to standard output, prints only its line.
  private func finish(_ facts: [(String, JSONValue?)], saving state: StoreAnchor?) throws {
    guard let saveAnchor, let state else { return try Report(facts).print(as: common.listFormat) }
    let isStream = saveAnchor == InputFile.standardInput
    guard isStream, common.isMachineReadable else {
      try state.save(to: saveAnchor)
      if !isStream { try Report(facts + [("saved", .string(saveAnchor))]).print(as: common.listFormat) }
      return
    }
    try Report(facts + [("saved", .string(state.description))]).print(as: common.listFormat)
  }

  private func report(_ verdict: Verdict, pin: StorePin) -> [(String, JSONValue?)] {
    [
      ("sound", .bool(verdict.isSound)),
      ("documents", .integer(verdict.documents)),
      ("attachments", verdict.attachments > 0 ? .integer(verdict.attachments) : nil),
      ("set", .string(verdict.setMatches ? "matches" : "differs")),
      ("count", .string(verdict.countMatches ? "matches" : "differs")),
      ("anchor", verdict.anchor.map { .string($0.words) }),
      ("pin", .string(pin.description)),
      (
        "damaged",
        .array(
          verdict.damaged.map { damaged in
            .object([("id", .integer(damaged.id.rawValue)), ("reason", .string(damaged.reason))])
          })
      ),
      (
        "damaged_attachments",
        verdict.damagedAttachments.isEmpty
          ? nil
          : .array(
            verdict.damagedAttachments.map { damaged in
              .object([
                ("number", .integer(damaged.id.rawValue)), ("document", .integer(damaged.document.rawValue)),
                ("reason", .string(damaged.reason)),
              ])
            })
      ),
      ("problems", .array((verdict.problems + verdict.indexProblems.map(\.summary)).map { .string($0) })),
      ("unusable_slots", verdict.unusableSlots.facts),
    ]
  }
}
