internal import ArgumentParser
internal import Coffer
internal import CofferFoundation

/// `merge COPY OTHER`: merges another copy's changes.
struct MergeVerb: ParsableCommand {
  /// The decisions of `--prefer`.
  enum Preference: String, CaseIterable, ExpressibleByArgument {
    case mine, theirs, both

    var policy: MergePolicy {
      switch self {
      case .mine: .mine
      case .theirs: .theirs
      case .both: .both
      }
    }
  }

  static let configuration = CommandConfiguration(
    commandName: "merge",
    abstract: "Merge the changes of another copy.",
    discussion: """
      OTHER is any copy that descends from the same store as STORE: its original, an editable copy, a copy of a copy, \
      or a promoted or restored file. Copies merge in any order, any number of times. The text, title, key, place and \
      each attribute of a document merge separately. OTHER is never changed, and the given keys are tried on both \
      stores.

      A conflict is a part that changed on both sides, or a document that was edited on one side and deleted on the \
      other. If conflicts exist, the command lists them by id and reason, leaves STORE unchanged, and exits with code \
      4, unless --prefer decides. 'mine' and 'theirs' take one side. 'both' takes the later change of each part, by \
      the copies' own counts instead of the clock, and keeps a losing text as a separate document.

        dbtool merge mine.coffer shipped-2.coffer --key-file my.key
        dbtool merge mine.coffer shipped-2.coffer --dry-run
        dbtool merge laptop.coffer phone.coffer --prefer mine --base backup.coffer
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The other copy.", valueName: "other"), completion: .file())
  var other: String

  @Option(help: ArgumentHelp("How to resolve conflicts (default: change nothing).", valueName: "side"))
  var prefer: Preference?

  @Option(
    help: ArgumentHelp(
      "For two copies of one file that were both changed, the file that they were copied from.", valueName: "older"),
    completion: .file())
  var base: String?

  @Flag(name: [.customShort("n"), .long], help: "List what a merge would do without changing STORE.")
  var dryRun = false

  @Flag(help: "List unreadable documents in OTHER, and continue without their changes.")
  var skipDamaged = false

  @Flag(help: "Prove all rows of both stores first, like 'verify --quick', and compare every document.")
  var verify = false

  @OptionGroup(title: "The other store") var otherStore: OtherStoreOptions

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func run() throws {
    let store = try options.open(readOnly: false)
    let right = try otherStore.open(other, with: options)
    var merging = MergeOptions()
    merging.isDryRun = dryRun
    merging.skipsDamaged = skipDamaged
    merging.verifiesOther = verify
    merging.allowsRekey = otherStore.allowRekey
    let older = try base.map { try options.openOther($0) }
    let bar = Progress("merge", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    let report = try Interrupt.deferring {
      try store.merge(right, base: older, policy: prefer?.policy ?? .fail, options: merging) { step in
        bar.update(step)
        try Interrupt.check()
      }
    }
    bar.finish()
    try report.print(as: options.common.listFormat)
    try older?.close()
    try right.close()
    try store.close()
    let conflicts = report.conflicts.count
    let isRefused = !report.isMerged && conflicts > 0 && prefer == nil
    options.common.diagnostics.note(
      isRefused
        ? "nothing was changed (conflicts: \(conflicts)); choose a side with --prefer"
        : "\(report.isMerged ? "merged" : "would merge") \(other) (changes: \(report.changeCount), conflicts: \(conflicts))"
    )
    guard !isRefused else { throw Outcome(.answerIsNo) }
  }
}

extension MergeReport {
  func print(as format: ListFormat?) throws { try entries.print(as: format) }
}

extension [MergeReport.Entry] {
  func print(as format: ListFormat?) throws {
    var table = TableWriter(
      columns: [
        .init(name: "action", isNumber: false), .init(name: "id", isNumber: true),
        .init(name: "other_id", isNumber: true), .init(name: "collection", isNumber: true),
        .init(name: "reason", isNumber: false), .init(name: "conflict", isNumber: false),
      ], format: format)
    for entry in self {
      try table.add([
        .string(entry.action.rawValue), entry.id.map { .integer($0.rawValue) },
        entry.otherID.map { .integer($0.rawValue) }, entry.collection.map { .integer(Int($0.rawValue)) },
        .string(entry.reason.rawValue), .bool(entry.reason.isConflict),
      ])
    }
    try table.finish()
  }
}
