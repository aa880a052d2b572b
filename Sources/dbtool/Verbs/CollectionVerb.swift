internal import ArgumentParser
internal import Coffer

/// `collection list|create|rename|drop|clear|sort STORE`: manages collections.
struct CollectionVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "collection",
    abstract: "List, create, rename, clear, drop or sort collections.",
    discussion: """
      A collection is an ordered list of documents with a sealed name.

        dbtool collection list texts.coffer
        dbtool collection create texts.coffer notes
        dbtool collection sort texts.coffer notes --by title
      """,
    subcommands: [
      CollectionListVerb.self, CollectionCreateVerb.self, CollectionRenameVerb.self, CollectionClearVerb.self,
      CollectionDropVerb.self, CollectionSortVerb.self,
    ])
}

struct CollectionListVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List collections: number, name, document count.",
    discussion: """
        dbtool collection list texts.coffer
      """)

  @OptionGroup var options: StoreOptions

  func run() throws {
    let store = try options.open(readOnly: true)
    let collections = try store.read { try $0.collections() }
    try store.close()
    var table = TableWriter(
      columns: [
        .init(name: "number", isNumber: false), .init(name: "name", isNumber: false),
        .init(name: "documents", isNumber: true),
      ],
      format: options.common.listFormat)
    for collection in collections {
      try table.add([.string(collection.id.description), .string(collection.name), .integer(collection.count)])
    }
    try table.finish()
  }
}

struct CollectionCreateVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Create an empty collection.",
    discussion: """
        dbtool collection create texts.coffer notes
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: "The collection's name.")
  var name: String

  func run() throws {
    let store = try options.open(readOnly: false)
    try store.write { _ = try $0.create(DocumentCollection(name)) }
    try store.close()
    guard options.common.isMachineReadable else { return }
    try Report([("collection", .string(name))]).print(as: options.common.listFormat)
  }
}

struct CollectionRenameVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename",
    abstract: "Rename a collection.",
    discussion: """
        dbtool collection rename texts.coffer notes archive
      """)

  @OptionGroup var options: StoreOptions

  @Argument(help: "The collection's name.")
  var name: String

  @Argument(help: ArgumentHelp("The new name.", valueName: "new"))
  var newName: String

  func run() throws {
    let store = try options.open(readOnly: false)
    try store.write { writer in
      try Collections.require([name], in: writer, of: store)
      try writer.rename(DocumentCollection(name), to: newName)
    }
    try store.close()
  }
}

struct CollectionClearVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clear",
    abstract: "Delete all documents in a collection.",
    discussion: """
      The empty collection remains, and ids continue from the last id. With --restart-ids, the next id is the lowest \
      above all documents that remain in the store, because ids are unique in it.

        dbtool collection clear texts.coffer notes --dry-run
        dbtool collection clear texts.coffer notes --force
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup var deletion: CollectionDeletion

  @Flag(help: "Reuse the ids of deleted documents.")
  var restartIds = false

  func run() throws {
    try deletion.run(options) { try $0.truncate($1, restartingIDs: restartIds) }
  }
}

struct CollectionDropVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "drop",
    abstract: "Delete a collection, and its documents with --force.",
    discussion: """
        dbtool collection drop texts.coffer notes --dry-run
        dbtool collection drop texts.coffer notes --force
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup var deletion: CollectionDeletion

  func run() throws {
    try deletion.run(options) { writer, collection in
      let count = try writer.count(in: collection)
      try writer.drop(collection)
      return count
    }
  }
}

/// A collection whose documents a verb deletes.
struct CollectionDeletion: ParsableArguments {
  @Argument(help: "The collection's name.")
  var name: String

  @Flag(name: .shortAndLong, help: "Delete the documents in the collection.")
  var force = false

  @Flag(name: [.customShort("n"), .long], help: "Show how many documents would be deleted without deleting them.")
  var dryRun = false

  /// - Parameter delete: Deletes the documents, and returns their number.
  func run(
    _ options: StoreOptions, delete: (borrowing WriteTransaction, DocumentCollection) throws -> Int
  ) throws {
    let store = try options.open(readOnly: dryRun)
    let collection = DocumentCollection(name)
    let count =
      dryRun
      ? try store.read { reader in
        try Collections.require([name], in: reader, of: store)
        return try reader.count(in: collection)
      }
      : try store.write { writer in
        try Collections.require([name], in: writer, of: store)
        let count = try writer.count(in: collection)
        guard force || count == 0 else {
          throw Failure.usage(
            "\(name) holds \(counted(count, "document")), which would be deleted",
            hint: "--force deletes them; --dry-run only counts them")
        }
        return try delete(writer, collection)
      }
    try store.close()
    guard dryRun || options.common.isMachineReadable else { return }
    try Report([("deleted", .integer(count))]).print(as: options.common.listFormat)
  }
}

struct CollectionSortVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sort",
    abstract: "Sort a collection once, and store the order.",
    discussion: """
      Compares titles and texts by code point, including case. Equal documents keep their order. json:PATH sorts by a \
      value in JSON texts: first documents without it, then false, true, numbers, strings, arrays and objects. \
      attribute:PATH sorts by an attribute in the same way.

        dbtool collection sort texts.coffer --by title
        dbtool collection sort texts.coffer prices --by json:price.net --reverse --dry-run
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

  @Argument(help: "The collection's name (default: the only collection).")
  var name: String?

  @Option(
    help: ArgumentHelp(
      "The value to sort by: title, text, id, key, created, modified, size, json:PATH or attribute:PATH.",
      valueName: "value"))
  var by: Key

  @Flag(name: .shortAndLong, help: "Sort in descending order.")
  var reverse = false

  @Flag(name: [.customShort("n"), .long], help: "List the documents in the new order without storing it.")
  var dryRun = false

  func run() throws {
    let store = try options.open(readOnly: dryRun)
    if dryRun {
      try list(store)
      return try store.close()
    }
    let (count, moved) = try store.write { writer in
      let documents = try collection(in: writer, of: store)
      return (
        try writer.count(in: documents), try writer.sort(documents, by: by.order, descending: reverse)
      )
    }
    try store.close()
    guard options.common.isMachineReadable else { return }
    try Report([("documents", .integer(count)), ("moved", .integer(moved))]).print(as: options.common.listFormat)
  }

  private func collection(
    in scope: borrowing some StoreReading & ~Copyable, of store: DocumentStore
  ) throws -> DocumentCollection {
    DocumentCollection(try Collections.existing(name, in: scope, of: store, hint: "name one behind the store"))
  }

  private func list(_ store: DocumentStore) throws {
    var table = HeaderField.briefTable(as: options.common.listFormat)
    try store.read { reader in
      let documents = try collection(in: reader, of: store)
      for id in try reader.ids(in: documents, sortedBy: by.order, descending: reverse) {
        try table.add(HeaderField.briefCells(of: try reader.header(of: id)))
      }
    }
    try table.finish()
  }
}
