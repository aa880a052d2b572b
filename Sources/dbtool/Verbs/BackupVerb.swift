internal import ArgumentParser
internal import Coffer
internal import FoundationEssentials

/// `backup STORE -o FILE`: a copy of one moment, without a key.
struct BackupVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy a store while it is in use, without a key.",
    discussion: """
      The copy is of one moment, a store with the same keys in one file, written beside its place and renamed. With \
      the write-ahead log others go on writing meanwhile; in the rollback journal they wait. A new identity comes from \
      'export' and 'import' into a new store instead.

        dbtool backup texts.coffer -o texts-monday.coffer
      """)

  @OptionGroup var store: StoreArgument

  @Option(name: .shortAndLong, help: ArgumentHelp("The copy's file.", valueName: "path"), completion: .file())
  var output: String

  @Flag(help: "Replace an existing file.")
  var force = false

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions
  @OptionGroup(title: "Everywhere") var common: CommonOptions
  @OptionGroup(visibility: .hidden) var unneeded: UnneededKeys

  func validate() throws {
    if output == InputFile.standardInput { throw ValidationError("a copy of a store is a file: -o takes its path") }
  }

  func run() throws {
    try store.requireExpected()
    guard force || !InputFile.exists(output) else { throw Failure.outputExists(output) }
    let bar = Progress("backup", unit: "page", style: progress.progress, isQuiet: common.quiet)
    do {
      defer { bar.finish() }
      try Interrupt.deferring {
        try DocumentStore.backup(
          at: store.url, to: URL(filePath: output), replacing: force, wait: store.access.waitingTime()
        ) { done, total in
          bar.update(done, of: total)
          return (try? Interrupt.check()) != nil
        }
      }
    } catch let error as StoreError where error.code == .cancelled {
      throw Failure.interrupted
    }
    let size = InputFile.size(of: output)
    if common.isMachineReadable {
      try Report([("path", .string(output)), ("size", size.map { .integer($0) })]).print(as: common.listFormat)
    } else {
      common.diagnostics.note("\(store.path) copied to \(output)" + (size.map { " (\(ByteCount($0)))" } ?? ""))
    }
  }
}
