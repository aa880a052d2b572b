internal import ArgumentParser
internal import Coffer

/// `collections STORE [create|rename|drop NAME [NEW]]`.
struct CollectionsVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "collections",
    abstract: "List a store's collections; make, rename or drop one.",
    discussion: """
      A collection is an ordered list of documents with a sealed name. 'drop' deletes it, and its documents with \
      --force only.

        dbtool collections texts.coffer
        dbtool collections texts.coffer create notes
        dbtool collections texts.coffer rename notes archive
      """)

  enum Action: String, CaseIterable, ExpressibleByArgument {
    case create, rename, drop
  }

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The action; without it, list.", valueName: "create|rename|drop"))
  var action: Action?

  @Argument(help: "The collection's name, and the new one after 'rename'.")
  var names: [String] = []

  @Flag(name: .shortAndLong, help: "Drop a collection with the documents in it.")
  var force = false

  @Flag(name: [.customShort("n"), .long], help: "Say how many documents 'drop' would delete, and delete nothing.")
  var dryRun = false

  func validate() throws {
    let wanted =
      switch action {
      case nil: 0
      case .create, .drop: 1
      case .rename: 2
      }
    guard names.count == wanted else {
      throw ValidationError(
        action == .rename ? "'rename' takes the collection and its new name" : "one name belongs to an action")
    }
    if force || dryRun, action != .drop { throw ValidationError("--force and --dry-run belong to 'drop'") }
  }

  func run() throws {
    let store = try options.open(readOnly: action == nil || dryRun)
    switch action {
    case nil: try list(store)
    case .create: try store.write { _ = try $0.create(DocumentCollection(names[0])) }
    case .rename: try store.write { try $0.rename(DocumentCollection(names[0]), to: names[1]) }
    case .drop where dryRun:
      let count = try store.read { reader in
        try Collections.require(names, in: reader, of: store)
        return try reader.count(in: DocumentCollection(names[0]))
      }
      try Report([("deleted", .integer(count))]).print(as: options.common.listFormat)
    case .drop:
      try store.write { writer in
        try Collections.require(names, in: writer, of: store)
        let count = try writer.count(in: DocumentCollection(names[0]))
        guard force || count == 0 else {
          throw Failure.usage(
            "\(names[0]) holds \(counted(count, "document")), which would be deleted with it",
            hint: "--force deletes them; --dry-run only counts them")
        }
        try writer.drop(DocumentCollection(names[0]))
      }
    }
    try store.close()
  }

  private func list(_ store: DocumentStore) throws {
    let collections = try store.read { try $0.collections() }
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
