internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferFoundation

/// `backup STORE DEST`: copies a snapshot, without a key.
struct BackupVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy a store while it is in use, without a key.",
    discussion: """
      The copy is a snapshot in one file, a store with the same keys. Before the copy gets its name, it is checked \
      like 'verify --keyless', so a store with a damaged structure isn't copied. Finding damaged texts needs a key, so \
      run 'verify' first. With the write-ahead log, others can write during the backup. With the rollback journal, \
      they wait. In a folder (DIR/), the copy has the store's name. With --keep, the name includes the UTC time, and \
      the oldest such copies of this store are deleted when the new copy is durable. A copy dated in the future is \
      reported, but neither deleted nor counted. To make a store with a new identity, use 'copy' instead.

        dbtool backup texts.coffer texts-monday.coffer
        dbtool backup texts.coffer backups/ --keep 14
      """)

  @OptionGroup var store: StoreArgument

  @Argument(help: ArgumentHelp("The copy's file, or its folder.", valueName: "dest"), completion: .file())
  var output: String

  @Option(help: ArgumentHelp("In a folder, keep this many copies, named by their time.", valueName: "n"))
  var keep: Int?

  @Flag(name: .shortAndLong, help: "Replace an existing file.")
  var force = false

  @Flag(help: "Copy the store even if it is damaged.")
  var allowDamage = false

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions
  @OptionGroup(title: "Everywhere") var common: CommonOptions
  @OptionGroup(visibility: .private) var unneeded: UnneededKeys

  func validate() throws {
    try StoreArgument.requirePath(output)
    if let keep, keep < 1 { throw ValidationError("--keep takes a number from 1") }
  }

  func run() throws {
    try store.requireExpected()
    let bar = Progress("backup", unit: "page", style: progress.progress, isQuiet: common.quiet)
    let place = try bar.interruptible { step in try copy(step) }
    let removed = try keep.map { try place.removeOldest(keeping: $0, common.diagnostics) } ?? []
    let size = InputFile.size(of: place.path)
    if common.isMachineReadable {
      try Report([
        ("path", .string(place.path)), ("size", size.map { .integer($0) }),
        ("removed", keep == nil ? nil : .array(removed.map { .string($0) })),
      ]).print(as: common.listFormat)
    } else {
      common.diagnostics.note("\(store.path) copied to \(place.path)" + (size.map { " (\(ByteCount($0)))" } ?? ""))
      for path in removed { common.diagnostics.note("\(path) deleted") }
    }
  }
}

extension BackupVerb {
  /// Copies the store. In a series, tries the next name if another backup takes the name first.
  private func copy(_ progress: @escaping ProgressHandler) throws -> BackupPlace {
    while true {
      let place = try BackupPlace(output, of: store.path, isStamped: keep != nil)
      guard force || !InputFile.exists(place.path) else { throw Failure.storeExists(place.path, reading: store.path) }
      do {
        try DocumentStore.backup(
          at: store.url, to: URL(filePath: place.path), replacing: force && keep == nil, allowingDamage: allowDamage,
          wait: store.access.waitingTime(), progress: progress)
        return place
      } catch {
        guard error.code == .alreadyExists, place.wasTaken else { throw error }
      }
    }
  }
}

extension Progress {
  /// Runs page work that a signal can end.
  func interruptible<R>(_ work: (@escaping ProgressHandler) throws -> R) throws -> R {
    defer { finish() }
    do {
      return try Interrupt.deferring {
        // From here on, a signal waits until the unfinished copy is deleted.
        try Interrupt.check()
        return try work { step in
          self.update(step)
          try Interrupt.check()
        }
      }
    } catch let error as StoreError where error.code == .cancelled {
      throw Failure.interrupted
    }
  }
}
