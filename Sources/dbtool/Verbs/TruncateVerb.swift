internal import ArgumentParser
internal import Coffer

/// `truncate STORE -c C`: deletes all documents of a collection.
struct TruncateVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "truncate",
    abstract: "Delete all documents of a collection.",
    discussion: """
      The collection stays, empty. Ids go on where they were; with --restart-ids the next one is the lowest above all \
      documents that remain in the store, since ids are unique in it.

        dbtool truncate texts.coffer -c notes --dry-run
        dbtool truncate texts.coffer -c notes --restart-ids
      """)

  @OptionGroup var options: StoreOptions

  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("The collection, which must be named.", valueName: "name"))
  var collection: String

  @Flag(help: "Give the ids of deleted documents again.")
  var restartIds = false

  @Flag(name: [.customShort("n"), .long], help: "Say how many documents would be deleted, and delete nothing.")
  var dryRun = false

  func run() throws {
    let store = try options.open(readOnly: dryRun)
    let documents = DocumentCollection(collection)
    let count: Int
    if dryRun {
      count = try store.read { reader in
        try Collections.require([collection], in: reader, of: store)
        return try reader.count(in: documents)
      }
    } else {
      count = try store.write { writer in
        try Collections.require([collection], in: writer, of: store)
        return try writer.truncate(documents, restartingIDs: restartIds)
      }
    }
    try store.close()
    guard dryRun || options.common.isMachineReadable else { return }
    try Report([("deleted", .integer(count))]).print(as: options.common.listFormat)
  }
}
