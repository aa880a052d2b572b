internal import ArgumentParser
internal import Coffer
internal import CofferEngine

/// `compact STORE`: frees the space of deleted data, without a key.
struct CompactVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Free unused space, without a key.",
    discussion: """
      Copies a write-ahead log into the file first. No other process can use the store during compaction. The command \
      needs space for two copies: one in SQLite's temporary folder (SQLITE_TMPDIR, else /var/tmp), and one next to the \
      store. An interrupted or killed run doesn't lose documents, because the next command on the store undoes or \
      finishes the rewrite.

        dbtool compact texts.coffer
      """)

  @OptionGroup var store: StoreArgument
  @OptionGroup(title: "Everywhere") var common: CommonOptions
  @OptionGroup(visibility: .private) var unneeded: UnneededKeys

  private static let brokenOff: StaticString = """
    dbtool: interrupted: no document is lost
    hint: the next command on the store undoes or finishes what was begun; then run compact again

    """

  func run() throws {
    try store.requireExpected()
    let size = try Interrupt.explaining(Self.brokenOff) {
      try DocumentStore.compact(at: store.url, wait: store.access.waitingTime())
    }
    if common.isMachineReadable {
      try Report([("size_before", .integer(size.before)), ("size", .integer(size.after))])
        .print(as: common.listFormat)
    } else {
      common.diagnostics.note("\(store.path): \(ByteCount(size.before)) before, \(ByteCount(size.after)) now")
    }
  }
}
