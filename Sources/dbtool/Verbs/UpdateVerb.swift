internal import ArgumentParser
internal import Coffer
internal import CofferCopies
internal import CofferEngine
internal import CofferFoundation

/// `update COPY DIRECTORY`: the newest release of a data set.
struct UpdateVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update",
    abstract: "Bring a copy to a publisher's newest release.",
    discussion: """
      DIRECTORY is the folder of 'release publish', or a copy of it that has at least the index and the files that \
      --dry-run names. The signatures, the contents and the releases are proved first, and an older or expired \
      release is refused. Each file is merged in one transaction; an update that was stopped goes on where it ended. Where \
      you edited the same part, your edit stays, unless --prefer says otherwise.

        dbtool update texts.coffer public --customer anna -k anna.identity \\
          --publisher coffer-publisher-1-…
        dbtool update --create texts.coffer public --customer anna -k anna.identity \\
          --publisher coffer-publisher-1-…
      """)

  @OptionGroup var options: StoreOptions

  @OptionGroup var source: ReleaseSourceOptions

  @Flag(help: "Make the copy, which the same key opens.")
  var create = false

  @Option(help: ArgumentHelp("How conflicts are decided (default: mine).", valueName: "side"))
  var prefer: MergeVerb.Preference?

  @Flag(name: [.customShort("n"), .long], help: "Change nothing, and list the files that an update would read.")
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
      let report = try Interrupt.deferring {
        if let store { return try store.update(from: source, policy: prefer?.policy ?? .mine, progress: tell) }
        var opening = try options.openOptions(false)
        (opening.publisher, opening.proofFile) = (nil, nil)
        return try DocumentStore.create(
          at: options.store.url, from: source, keys: [key], options: opening, progress: tell)
      }
      bar.finish()
      options.common.diagnostics.note(
        report.from == report.to
          ? "\(path) has release \(report.to), the newest, already"
          : report.from == 0
            ? "made \(path) with release \(report.to)"
            : "updated \(path) from release \(report.from) to \(report.to) (changes: \(report.merge.changeCount), "
              + "conflicts: \(report.merge.conflicts.count))")
      // People have read all about a new copy in the note.
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
        ? "the copy has release \(to), the newest, already"
        : "an update to release \(to) reads \(files.reduce(0) { $0 + $1.byteCount }) bytes")
  }
}
