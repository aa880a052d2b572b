internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferFoundation

/// `backup STORE DEST`: a copy of one moment, without a key.
struct BackupVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy a store while it is in use, without a key.",
    discussion: """
      The copy is of one moment, a store with the same keys in one file, checked before it gets its name as \
      'verify --keyless' does: a store whose structure is damaged is not copied. Damaged texts need a key to be found: run \
      'verify' first. With the write-ahead log others go on writing \
      meanwhile; in the rollback journal they wait. A folder (DIR/) gets a file of the store's name; with --keep the \
      time is in it, in UTC, and the oldest such copies of this store are deleted once the new one is durable. A copy \
      that is dated in the future is named, and neither deleted nor counted. To make \
      a store with a new identity, use 'copy' instead.

        dbtool backup texts.coffer texts-monday.coffer
        dbtool backup texts.coffer backups/ --keep 14
      """)

  @OptionGroup var store: StoreArgument

  @Argument(help: ArgumentHelp("The copy's file, or its folder.", valueName: "dest"), completion: .file())
  var output: String

  @Option(help: ArgumentHelp("In a folder: keep this many copies, named by their time.", valueName: "n"))
  var keep: Int?

  @Flag(name: .shortAndLong, help: "Replace an existing file.")
  var force = false

  @Flag(help: "Copy a damaged store, too.")
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
  /// Copies the store. In a series, the next name is tried if another backup takes this one meanwhile.
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
  /// Runs work on pages that a signal ends.
  func interruptible<R>(_ work: (@escaping ProgressHandler) throws -> R) throws -> R {
    defer { finish() }
    do {
      return try Interrupt.deferring {
        // From here on a signal waits until the unfinished copy is deleted.
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
