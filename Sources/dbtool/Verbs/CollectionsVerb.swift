internal import ArgumentParser
internal import Coffer

/// `collections STORE [create|rename|drop NAME [NEW]]`.
struct CollectionsVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "collections",
    abstract: "List a store's collections; make, rename or drop one.",
    discussion: """
      A collection is an ordered list of documents with a sealed name. 'drop' deletes it with its documents.

        dbtool collections texts.coffer
        dbtool collections texts.coffer create notes
        dbtool collections texts.coffer rename notes archive
      """)

  enum Action: String, CaseIterable, ExpressibleByArgument {
    case create, rename, drop
  }

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("What to do; without it, list.", valueName: "create|rename|drop"))
  var action: Action?

  @Argument(help: "The collection's name, and the new one after 'rename'.")
  var names: [String] = []

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
  }

  func run() throws {
    let store = try options.open(readOnly: action == nil)
    switch action {
    case nil: try list(store)
    case .create: try store.write { _ = try $0.create(DocumentCollection(names[0])) }
    case .rename: try store.write { try $0.rename(DocumentCollection(names[0]), to: names[1]) }
    case .drop: try store.write { try $0.drop(DocumentCollection(names[0])) }
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
