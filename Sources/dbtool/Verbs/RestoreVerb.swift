internal import ArgumentParser
internal import Coffer
internal import FoundationEssentials

/// `restore STORE FROM`: a backup in the place of a store, without a key.
struct RestoreVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Put a backup in the place of a store, without a key.",
    discussion: """
      The copy is checked before it replaces anything, and FROM stays as it is. A store that exists is replaced with \
      --force only, and only while no process has it open; its journal or log, which would be laid over the copy, is \
      deleted with it.

        dbtool restore texts.coffer backups/texts-20261122T081500Z.coffer --force
      """)

  @OptionGroup var store: StoreArgument

  @Argument(help: ArgumentHelp("The backup.", valueName: "from"), completion: .file())
  var backup: String

  @Flag(help: "Replace an existing store.")
  var force = false

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions
  @OptionGroup(title: "Everywhere") var common: CommonOptions
  @OptionGroup(visibility: .hidden) var unneeded: UnneededKeys

  func run() throws {
    let source = URL(filePath: backup)
    if store.access.expect != nil {
      try store.requireExpected(try DocumentStore.info(at: source, wait: store.access.waitingTime()).pin)
    }
    guard force || !InputFile.exists(store.path) else { throw Failure.outputExists(store.path) }
    let bar = Progress("restore", unit: "page", style: progress.progress, isQuiet: common.quiet)
    try bar.interruptible { step in
      try DocumentStore.restore(
        at: store.url, from: source, replacing: force, wait: store.access.waitingTime(), progress: step)
    }
    let size = InputFile.size(of: store.path)
    if common.isMachineReadable {
      try Report([("path", .string(store.path)), ("size", size.map { .integer($0) })]).print(as: common.listFormat)
    } else {
      common.diagnostics.note("\(store.path) restored from \(backup)" + (size.map { " (\(ByteCount($0)))" } ?? ""))
    }
  }
}
