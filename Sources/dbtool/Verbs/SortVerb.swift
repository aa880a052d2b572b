internal import ArgumentParser
internal import Coffer

/// `sort STORE --by …`: sorts a collection once and keeps that order.
struct SortVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sort",
    abstract: "Sort a collection once, and keep that order.",
    discussion: """
      Compares titles and texts by their code points, case and all; documents that are equal keep the order they had. \
      json:PATH sorts by a value in texts that are JSON: first documents without it, then false, true, numbers, \
      strings, arrays and objects. attribute:PATH sorts by an attribute in the same way.

        dbtool sort texts.coffer --by title
        dbtool sort texts.coffer -c prices --by json:price.net --reverse --dry-run
      """)

  /// The keys of `--by`.
  struct Key: ExpressibleByArgument {
    let order: DocumentOrder

    init?(argument: String) {
      switch argument {
      case "title": order = .title
      case "text": order = .text
      case "id": order = .id
      case "created": order = .created
      case "modified": order = .modified
      case "size": order = .size
      case "key": order = .key
      default:
        guard
          let found = Self.path("json:", argument).map(DocumentOrder.json)
            ?? Self.path("attribute:", argument).map(DocumentOrder.attribute)
        else { return nil }
        order = found
      }
    }

    private static func path(_ prefix: String, _ argument: String) -> JSONPath? {
      argument.hasPrefix(prefix) ? JSONPath(argument.dropFirst(prefix.count)) : nil
    }
  }

  @OptionGroup var options: StoreOptions

  @Option(
    help: ArgumentHelp(
      "The value to sort by.", valueName: "title|text|id|key|created|modified|size|json:path|attribute:path"))
  var by: Key

  @Flag(name: .shortAndLong, help: "The greatest first.")
  var reverse = false

  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("The collection (default: the only one).", valueName: "name"))
  var collection: String?

  @Flag(name: [.customShort("n"), .long], help: "List the documents in that order, and change nothing.")
  var dryRun = false

  func run() throws {
    let store = try options.open(readOnly: dryRun)
    if dryRun {
      try list(store)
      return try store.close()
    }
    let (count, moved) = try store.write { writer in
      let documents = DocumentCollection(try Collections.existing(collection, in: writer, of: store))
      return (
        try writer.count(in: documents), try writer.sort(documents, by: by.order, descending: reverse)
      )
    }
    try store.close()
    guard options.common.isMachineReadable else { return }
    try Report([("documents", .integer(count)), ("moved", .integer(moved))]).print(as: options.common.listFormat)
  }

  private func list(_ store: DocumentStore) throws {
    var table = HeaderField.briefTable(as: options.common.listFormat)
    try store.read { reader in
      let documents = DocumentCollection(try Collections.existing(collection, in: reader, of: store))
      for id in try reader.ids(in: documents, sortedBy: by.order, descending: reverse) {
        try table.add(HeaderField.briefCells(of: try reader.header(of: id)))
      }
    }
    try table.finish()
  }
}
