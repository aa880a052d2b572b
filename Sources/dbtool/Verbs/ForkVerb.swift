internal import ArgumentParser
internal import Coffer
internal import CofferFoundation

/// `fork ORIGINAL COPY`: an editable copy of a store.
struct ForkVerb: ParsableCommand {
  enum NewerName: String, CaseIterable, ExpressibleByArgument {
    case keep, replace, merge
  }

  static let configuration = CommandConfiguration(
    commandName: "fork",
    abstract: "Make an editable copy of a store, or compare one with its original.",
    discussion: """
      The copy is a separate store with the same documents, ids and order; the keys given open \
      both, unless --new-… options or --recipient name others for the copy. New documents of the copy get ids that the \
      original will not give. The original is never changed, and may be in a place where nothing can be written.

      For a COPY that exists, the original is compared with the state that the copy was made from: one that is older, \
      another store or another branch is an error (21), and the copy stays. A newer original changes nothing; replaces \
      the copy with --on-newer replace, which loses the changes made in it; or gives its changes to it with \
      --on-newer merge, as 'merge' does (conflicts: exit 4).

        dbtool fork shipped.coffer mine.coffer --key-file my.key
        dbtool fork shipped.coffer hers.coffer --key-file my.key --recipient coffer-recipient-1-…
        dbtool fork shipped-2.coffer mine.coffer --key-file my.key --on-newer replace
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The copy's file.", valueName: "copy"), completion: .file())
  var copy: String

  @Option(help: ArgumentHelp("The effect of a newer original on the copy (default: keep).", valueName: "choice"))
  var onNewer: NewerName?

  @Option(help: ArgumentHelp("How conflicts of --on-newer merge are decided (default: fail).", valueName: "rule"))
  var policy: PolicyName?

  @Flag(help: "Accept that the original has a later root key than when the copy was made.")
  var rekeyKnown = false

  @OptionGroup var newStore: NewStoreOptions
  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    if policy != nil, onNewer != .merge { throw ValidationError("--policy belongs to --on-newer merge") }
  }

  func run() throws {
    let bar = Progress("fork", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let isThere = InputFile.exists(copy)
    if isThere, newStore.isUsed {
      throw Failure.usage(
        "\(copy) exists: keys and what a store is made as belong to a new copy", hint: "name another file for the copy")
    }
    let url = URL(filePath: copy)
    let (report, hasConflicts) = try Interrupt.deferring { () throws -> (Report, Bool) in
      func step(_ progress: WorkProgress) throws {
        bar.update(progress)
        try Interrupt.check()
      }
      guard newStore.isUsed else { return try open(at: url, progress: step) }
      // Keys of other people: this command may be unable to open the copy.
      let slots = try newStore.newSlots(for: copy, policy: options.policy)
      var opening = options.openOptions(true)
      opening.leavesFileUnchanged = true
      let original = try DocumentStore.open(at: options.store.url, key: .anyOf(options.openingKeys()), options: opening)
      let made = try original.makeEditableCopy(
        at: url, keys: slots.keys, recipients: slots.recipients,
        creation: try newStore.creation.creation(original.creationOptions, slots: slots.count), progress: step)
      try original.close()
      let report = Report([
        ("path", .string(copy)), ("original", .string("copied")), ("documents", .integer(made.documents)),
        ("store_id", .string(made.storeID)), ("pin", .string(made.pin.description)),
      ])
      return (report, false)
    }
    bar.finish()
    try report.print(as: options.common.listFormat)
    guard !hasConflicts else { throw Outcome(.answerIsNo) }
  }

  private func open(at url: URL, progress: ProgressHandler?) throws -> (Report, hasConflicts: Bool) {
    let choice: DocumentStore.NewerOriginal =
      switch onNewer ?? .keep {
      case .keep: .keep
      case .replace: .replace
      case .merge: .merge((policy ?? .fail).policy)
      }
    var opening = options.openOptions(false)
    opening.pin = nil
    let store = try DocumentStore.openEditableCopy(
      of: options.store.url, at: url, key: .anyOf(options.openingKeys()), originalPin: options.store.access.expectedPin,
      onNewerOriginal: choice, allowingRekey: rekeyKnown, options: opening, progress: progress)
    if store.isTest { options.common.diagnostics.warning("\(copy) is a TEST store: its keys may be published") }
    var merged: MergeReport?
    let check: String
    switch store.original {
    case .copied, nil: check = "copied"
    case .unchanged: check = "unchanged"
    case .newer: check = "newer"
    case .replaced: check = "replaced"
    case .merged(let report): (check, merged) = ("merged", report)
    case .conflicts(let report): (check, merged) = ("conflicts", report)
    }
    let report = Report([
      ("path", .string(copy)), ("original", .string(check)),
      ("documents", .integer(try store.read { $0.documentCount })), ("store_id", .string(store.storeID)),
      ("pin", .string(store.pin.description)), ("changes", merged.map { .integer($0.changeCount) }),
      ("conflicts", merged.map { .integer($0.conflicts.count) }),
    ])
    try store.close()
    if check == "newer" {
      options.common.diagnostics.note(
        "\(options.store.path) is newer than the state that \(copy) was made from: the copy stays as it is")
    } else if check == "conflicts" {
      options.common.diagnostics.note(
        "nothing was changed: 'dbtool merge \(copy) \(options.store.path) --dry-run' lists the conflicts")
    }
    return (report, check == "conflicts")
  }
}
