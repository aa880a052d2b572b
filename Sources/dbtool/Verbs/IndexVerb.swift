internal import ArgumentParser
internal import Coffer

/// `index STORE [list|add|drop|update]`: indexes, by which searches and queries find documents without opening all.
struct IndexVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "index",
    abstract: "Make, list, update or drop the indexes of a store.",
    discussion: """
      An index is sealed like the documents, and can always be dropped and made again. 'search --rank' needs --words; \
      'search' for a text of three letters or more uses --substrings; a --field is a column of the collection's view in \
      'query'. Writes don't touch indexes: the next search or query adds what has changed, in the file if it may be \
      written and little is missing, otherwise in memory. 'update' adds it in the file in any case, and makes a damaged \
      index again.

      A field is NAME=PATH:KIND: PATH leads to a value within texts that are JSON ($.price, $.tags[0]), or is @created, \
      @modified, @size, @title, @key or @attributes.NAME; KIND is number, text, folded (text without differences of case \
      and composition) or date.

        dbtool index texts.coffer add -c notes --words --substrings
        dbtool index shop.coffer add -c orders --field price=$.price:number --field 'day=$.date:date'
        dbtool index shop.coffer
        dbtool index shop.coffer drop -c orders --field price
      """)

  enum Action: String, CaseIterable, ExpressibleByArgument {
    case list, add, drop, update
  }

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("What to do; without it, list.", valueName: "list|add|drop|update"))
  var action: Action?

  @Option(
    name: [.customShort("c"), .long], help: ArgumentHelp("The collection to index.", valueName: "collection"))
  var collection: String?

  @Flag(help: "Words of titles and texts, for 'search --rank'.")
  var words = false

  @Flag(help: "Words with other accents and marks are other words.")
  var keepDiacritics = false

  @Flag(help: "Every three letters in a row, for 'search'.")
  var substrings = false

  @Option(
    help: ArgumentHelp("A column for 'query'; after 'drop', its name alone. Any number.", valueName: "name=path:kind"))
  var field: [String] = []

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  private var namesIndexes: Bool { words || substrings || !field.isEmpty }

  func validate() throws {
    let changes = action == .add || action == .drop
    if changes, collection == nil { throw ValidationError("-c names the collection to index") }
    if !changes, collection != nil || namesIndexes {
      throw ValidationError("-c, --words, --substrings and --field belong to 'add' and 'drop'")
    }
    if action == .add, !namesIndexes { throw ValidationError("say what to index: --words, --substrings or --field") }
    if keepDiacritics, !(words && action == .add) {
      throw ValidationError("--keep-diacritics belongs to 'add --words'")
    }
    _ = try indexes()
  }

  /// The named indexes.
  private func indexes() throws -> [DocumentIndex] {
    var indexes: [DocumentIndex] = []
    if words { indexes.append(.words(keepingDiacritics: keepDiacritics)) }
    if substrings { indexes.append(.substrings) }
    for text in field {
      guard action == .add else {
        indexes.append(.field(text, "", as: .text))
        continue
      }
      guard let equals = text.firstIndex(of: "="), let colon = text.lastIndex(of: ":"), equals < colon,
        let kind = FieldKind(rawValue: String(text[text.index(after: colon)...]))
      else {
        throw ValidationError(
          "--field takes NAME=PATH:KIND, such as price=$.price:number; kinds are "
            + FieldKind.allCases.map(\.rawValue).joined(separator: ", "))
      }
      indexes.append(.field(String(text[..<equals]), String(text[text.index(after: equals)..<colon]), as: kind))
    }
    return indexes
  }

  func run() throws {
    let action = action ?? .list
    let store = try options.open(readOnly: action == .list)
    let bar = Progress("index", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let collection = store.collection(collection ?? "")
    switch action {
    case .list: try list(store)
    case .add: try Interrupt.deferring { try store.index(collection, indexes()) { bar.update($0) } }
    case .drop: try store.dropIndexes(collection, indexes())
    case .update: _ = try Interrupt.deferring { try store.updateIndexes { bar.update($0) } }
    }
    bar.finish()
    try store.close()
  }

  private func list(_ store: DocumentStore) throws {
    var table = TableWriter(
      columns: ["collection", "index", "field", "path", "kind"].map { .init(name: $0, isNumber: false) },
      format: options.common.listFormat)
    for entry in try store.indexes() {
      for index in entry.indexes {
        try table.add(
          [entry.collection, index.word, index.field?.name, index.field?.path, index.field?.kind].map { text in
            text.map { .string($0) }
          })
      }
    }
    try table.finish()
  }
}

extension DocumentIndex {
  fileprivate var word: String {
    switch self {
    case .words(let keepsDiacritics): keepsDiacritics ? "words with diacritics" : "words"
    case .substrings: "substrings"
    case .field: "field"
    case .titles: "titles"
    }
  }

  fileprivate var field: (name: String, path: String, kind: String)? {
    guard case .field(let name, let path, let kind) = self else { return nil }
    return (name, path, kind.rawValue)
  }
}
