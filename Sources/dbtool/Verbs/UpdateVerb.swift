internal import ArgumentParser
internal import Coffer
internal import CofferCopies
internal import CofferEngine
internal import CofferFoundation

/// `update COPY DIRECTORY`: updates a copy to the newest release.
struct UpdateVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update",
    abstract: "Update a copy to a publisher's newest release.",
    discussion: """
      DIRECTORY is the folder of 'release publish', or a copy with at least the index and the files that --dry-run \
      names. The signatures, contents and releases are proved first, and an older or expired release is refused. Each \
      file is merged in one transaction, and an interrupted update continues where it ended. If you edited the same \
      part, your edit remains unless --prefer overrides it.

        dbtool update texts.coffer public --customer anna -k anna.identity \\
          --publisher coffer-publisher-1-…
        dbtool update --create texts.coffer public --customer anna -k anna.identity \\
          --publisher coffer-publisher-1-…
      """)

  @OptionGroup var options: StoreOptions

  @OptionGroup var source: ReleaseSourceOptions

  @Flag(help: "Create the copy. The same key opens it.")
  var create = false

  @Option(help: ArgumentHelp("How to resolve conflicts (default: mine).", valueName: "side"))
  var prefer: MergeVerb.Preference?

  @Flag(name: [.customShort("n"), .long], help: "List the files that an update would read without updating.")
  var dryRun = false

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func run() throws {
    let path = options.store.path
    if create, InputFile.exists(path) {
      throw Failure(
        .failed, kind: "already-exists", "\(path) exists already", hint: "update it without --create")
    }
    if !create, !InputFile.exists(path) {
      throw Failure(.noStore, kind: "no-such-file", "\(path): no such file", hint: "--create makes the copy")
    }
    let source = try source.opened(for: "update", options)
    let key = source.key
    defer { key.forget() }
    let store = create ? nil : try options.open(with: key, readOnly: dryRun, asReleased: false)
    if dryRun {
      let plan = try store?.planUpdate(from: source) ?? DocumentStore.planStore(from: source)
      try plan.print(options.common)
    } else {
      let bar = Progress("update", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
      defer { bar.finish() }
      func tell(_ step: WorkProgress) throws {
        bar.update(step)
        try Interrupt.check()
      }
      let report = try Interrupt.deferring(inSteps: !create) {
        if let store { return try store.update(from: source, policy: prefer?.policy ?? .mine, progress: tell) }
        var opening = try options.openOptions(false)
        (opening.publisher, opening.proofFile) = (nil, nil)
        return try DocumentStore.create(
          at: options.store.url, from: source, keys: [key], options: opening, progress: tell)
      }
      bar.finish()
      options.common.diagnostics.note(
        report.from == report.to
          ? "\(path) has release \(report.to) already, and the folder has no newer release"
          : report.from == 0
            ? "made \(path) with release \(report.to)"
            : "updated \(path) from release \(report.from) to \(report.to) (changes: \(report.merge.changeCount), "
              + "conflicts: \(report.merge.conflicts.count))")
      // For people, the note about a new copy is enough.
      if store != nil || options.common.isMachineReadable { try report.merge.print(as: options.common.listFormat) }
    }
    try store?.close()
  }
}

extension UpdatePlan {
  fileprivate func print(_ common: CommonOptions) throws {
    var table = TableWriter(
      columns: [
        .init(name: "file", isNumber: false), .init(name: "bytes", isNumber: true),
        .init(name: "is_there", isNumber: false),
      ], format: common.listFormat)
    for file in files { try table.add([.string(file.name), .integer(file.byteCount), .bool(file.isThere)]) }
    try table.finish()
    common.diagnostics.note(
      files.isEmpty
        ? "the copy has release \(to) already, and the folder has no newer release"
        : "an update to release \(to) reads \(files.reduce(0) { $0 + $1.byteCount }) bytes")
  }
}
