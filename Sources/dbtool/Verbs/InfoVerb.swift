internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferTerminal

/// `info STORE`: shows the facts that don't need a key.
struct InfoVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info",
    abstract: "Show a store's properties, without a key.",
    discussion: """
      Shows id and pin, size, format, journal, counts, slots, epochs and title mode. These facts aren't proved by a \
      key. Use 'verify' to prove them and to print the proved pin.

        dbtool info texts.coffer
      """)

  @OptionGroup var store: StoreArgument
  @OptionGroup(title: "Everywhere") var common: CommonOptions
  @OptionGroup(visibility: .private) var unneeded: UnneededKeys

  func run() throws {
    let info = try DocumentStore.info(at: store.url, wait: store.access.waitingTime())
    try store.requireExpected(info.pin)
    let releases = try DocumentStore.releases(at: store.url, wait: store.access.waitingTime())
    if info.hasWALResetBug, info.journal == "wal" {
      common.diagnostics.warning(
        "SQLite \(info.sqliteVersion) can lose commits of a WAL store when another program checkpoints it; "
          + "dbtool guards its own checkpoints, so let no other tool write or checkpoint this file")
    }
    let facts: [(String, JSONValue?)] = [
      ("path", .string(store.path)),
      ("store_id", .string(info.storeID)),
      ("pin", .string(info.pin.description)),
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
      ("releases", releases.isEmpty ? nil : .array(releases.map { .object(present: $0.facts) })),
      ("pages", .integer(info.pageCount)),
      ("page_size", .integer(info.pageSize)),
      ("free_pages", .integer(info.freePages)),
      ("sqlite", .string(info.sqliteVersion)),
      ("wal_reset_bug", .bool(info.hasWALResetBug)),
    ]
    let size = ByteCount(info.fileBytes).description
    let exactly = grouped(info.fileBytes) + (info.fileBytes == 1 ? " byte" : " bytes")
    // For people, print the size on one line, and SQLite's bug only if it can do harm.
    try Report(
      facts,
      labels: [
        "pin": "pin (unproved)", "pin_proved": "", "size_in_words": "",
        "wal_reset_bug": info.journal == "wal" ? "wal reset bug" : "",
      ],
      words: ["size": size == exactly ? size : "\(size) (\(exactly))"]
    ).print(as: common.listFormat)
    if info.epochs.count > 1, !common.isMachineReadable {
      common.diagnostics.note(
        "documents remain under old keys, which their holders may still know, until 'rekey --resume' is done")
    }
  }
}
