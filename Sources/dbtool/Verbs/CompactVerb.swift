internal import ArgumentParser
internal import Coffer

/// `compact STORE`: the file without what was deleted, without a key.
struct CompactVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Write a store anew without free pages, without a key.",
    discussion: """
      Copies a write-ahead log into the file first. Nobody else can use the store meanwhile, and it needs room for \
      two copies: one for SQLite's temporary files (SQLITE_TMPDIR, else /var/tmp), one beside the store. Broken off, it \
      loses nothing: the next command on the store undoes or finishes it.

        dbtool compact texts.coffer
      """)

  @OptionGroup var store: StoreArgument
  @OptionGroup(title: "Everywhere") var common: CommonOptions
  @OptionGroup(visibility: .hidden) var unneeded: UnneededKeys

  private static let brokenOff: StaticString = """
    dbtool: interrupted: no document is lost
    hint: the next command on the store undoes or finishes what was begun; then run compact again

    """

  func run() throws {
    try store.requireExpected()
    let report = try Interrupt.explaining(Self.brokenOff) {
      try DocumentStore.compact(at: store.url, wait: store.access.waitingTime())
    }
    if common.isMachineReadable {
      try Report([("size_before", .integer(report.bytesBefore)), ("size", .integer(report.bytesAfter))])
        .print(as: common.listFormat)
    } else {
      common.diagnostics.note(
        "\(store.path): \(ByteCount(report.bytesBefore)) before, \(ByteCount(report.bytesAfter)) now")
    }
  }
}
