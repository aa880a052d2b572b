internal import ArgumentParser
internal import Coffer

/// `info STORE`: the facts that a file shows without a key.
struct InfoVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info",
    abstract: "Say what a store is, without a key.",
    discussion: """
      Id and pin, size, format, journal, counts, slots, epochs, title mode. Nothing here is proven by a key: 'verify' \
      does that, and prints the proved pin.

        dbtool info texts.coffer
      """)

  @OptionGroup var store: StoreArgument
  @OptionGroup(title: "Everywhere") var common: CommonOptions
  @OptionGroup(visibility: .hidden) var unneeded: UnneededKeys

  func run() throws {
    let info = try DocumentStore.info(at: store.url, wait: store.access.waitingTime())
    try store.requireExpected(info.pin)
    if info.hasWALResetBug, info.journal == "wal" {
      common.diagnostics.warning(
        "SQLite \(info.sqliteVersion) can lose commits of a WAL store when another program checkpoints it; "
          + "dbtool guards its own checkpoints, so let no other tool write or checkpoint this file")
    }
    let facts: [(String, JSONValue?)] = [
      ("path", .string(store.path)),
      ("store_id", .string(info.storeID)),
      ("pin", .string(info.pin)),
      ("pin_proved", .bool(false)),
      ("size", .integer(info.fileBytes)),
      ("size_in_words", .string(ByteCount(info.fileBytes).description)),
      ("format", .integer(info.format)),
      ("journal", .string(info.journal)),
      ("titles", .string(String(describing: info.titles))),
      ("test", .bool(info.isTest)),
      ("padded", .bool(info.isPadded)),
      ("documents", .integer(info.documents)),
      (
        "collections",
        .array(
          info.collections.map { id, count in
            .object([("number", .string(id.description)), ("documents", .integer(count))])
          })
      ),
      ("slots", .array(info.slots.map { .object(present: $0.facts(withOpening: false)) })),
      (
        "epochs",
        .array(
          info.epochs.map { epoch, documents in
            .object([("epoch", .integer(Int64(epoch))), ("documents", .integer(documents))])
          })
      ),
      ("pages", .integer(info.pageCount)),
      ("page_size", .integer(info.pageSize)),
      ("free_pages", .integer(info.freePages)),
      ("sqlite", .string(info.sqliteVersion)),
      ("wal_reset_bug", .bool(info.hasWALResetBug)),
    ]
    try Report(facts, labels: ["pin": "pin (unproved)", "pin_proved": ""]).print(as: common.listFormat)
    common.noteLimitsOfRemoval(epochs: info.epochs.count)
  }
}
