internal import ArgumentParser
internal import Coffer

/// `index STORE [list|add|drop|update|check]`: indexes, by which searches and queries find documents without opening all.
struct IndexVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "index",
    abstract: "Make, list, update, check or drop the indexes of a store.",
    discussion: """
      An index is sealed like the documents, and can always be dropped and made again. 'search --ranked' needs --words; \
      'search' for a text of three letters or more uses --substrings; a --field is a column of the collection's view \
      in 'query'. Writes don't touch indexes: the next search or query adds the changes in memory. 'update' writes \
      them to the file, and makes a damaged index again. 'check' compares every index with the documents and ends with \
      exit code 20 if they differ. 'ls' of a whole collection uses --titles.

      A field is NAME=PATH:KIND: PATH leads to a value within texts that are JSON ($.price, $.tags[0]), or is @created, \
      @modified, @size, @title, @key or @attributes.NAME; KIND is number, text, folded (text without differences of case \
      and composition) or date.

        dbtool index texts.coffer add -c notes --words --substrings --titles
        dbtool index shop.coffer add -c orders --field price=$.price:number --field 'day=$.date:date'
        dbtool index shop.coffer
        dbtool index shop.coffer drop -c orders --field price
      """)

  enum Action: String, CaseIterable, ExpressibleByArgument {
    case list, add, drop, update, check
  }

  @OptionGroup var options: StoreOptions

  @Argument(help: ArgumentHelp("The action; without it, list.", valueName: "list|add|drop|update|check"))
  var action: Action?

  @Option(
    name: [.customShort("c"), .long], help: ArgumentHelp("The collection to index.", valueName: "collection"))
  var collection: String?

  @Flag(help: "Words of titles and texts, for 'search --ranked'.")
  var words = false

  @Flag(help: "Treat words that differ in accents or other marks as different words.")
  var keepDiacritics = false

  @Flag(help: "Every three letters in a row, for 'search'.")
  var substrings = false

  @Flag(help: "Titles, dates and sizes, for 'ls'.")
  var titles = false

  @Option(
    help: ArgumentHelp("A column for 'query'; after 'drop', its name alone. Any number.", valueName: "name=path:kind"))
  var field: [String] = []

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  private var namesIndexes: Bool { words || substrings || titles || !field.isEmpty }

  func validate() throws {
    let changes = action == .add || action == .drop
    if changes, collection == nil { throw ValidationError("-c names the collection to index") }
    if !changes, collection != nil || namesIndexes {
      throw ValidationError("-c, --words, --substrings, --titles and --field belong to 'add' and 'drop'")
    }
    if action == .add, !namesIndexes {
      throw ValidationError("name an index: --words, --substrings, --titles or --field")
    }
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
    if titles { indexes.append(.titles) }
    for text in field {
      guard action == .add else {
        indexes.append(.field(text, "", as: .text))
        continue
      }
      guard let equals = text.firstIndex(of: "="), let colon = text.lastIndex(of: ":"), equals < colon,
        let kind = DocumentIndex.Kind(rawValue: String(text[text.index(after: colon)...]))
      else {
        throw ValidationError(
          "--field takes NAME=PATH:KIND, such as price=$.price:number; kinds are "
            + DocumentIndex.Kind.allCases.map(\.rawValue).joined(separator: ", "))
      }
      indexes.append(.field(String(text[..<equals]), String(text[text.index(after: equals)..<colon]), as: kind))
    }
    return indexes
  }

  func run() throws {
    let action = action ?? .list
    let store = try options.open(readOnly: action == .list || action == .check)
    let bar = Progress("index", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let collection = DocumentCollection(collection ?? "")
    switch action {
    case .list: try list(store)
    case .add: try Interrupt.deferring { try store.index(collection, indexes()) { bar.update($0) } }
    case .drop: try store.dropIndexes(collection, indexes())
    case .update: _ = try Interrupt.deferring { try store.updateIndexes { bar.update($0) } }
    case .check: try check(store, bar)
    }
    bar.finish()
    try store.close()
  }

  private func check(_ store: DocumentStore, _ bar: Progress) throws {
    let problems = try store.checkIndexes { bar.update($0) }
    bar.finish()
    var table = table(["collection", "index", "field", "id", "problem"], numbers: ["id"])
    for problem in problems {
      try table.add([
        problem.collection.map { .string($0) }, problem.index.map { .string($0.word) },
        problem.index?.field.map { .string($0.name) }, problem.documentID.map { .integer($0.rawValue) },
        .string(problem.message),
      ])
    }
    try table.finish()
    guard !problems.isEmpty else { return }
    throw Failure(
      .damaged, kind: "damaged", "the indexes of \(options.store.path) differ from its documents",
      hint: "the documents are not affected; 'index drop' and 'index add' make an index again")
  }

  private func table(_ columns: [String], numbers: Set<String> = []) -> TableWriter {
    TableWriter(
      columns: columns.map { .init(name: $0, isNumber: numbers.contains($0)) }, format: options.common.listFormat)
  }

  private func list(_ store: DocumentStore) throws {
    var table = table(["collection", "index", "field", "path", "kind"])
    try store.read { reader in
      for collection in try reader.collections() {
        for index in try reader.indexes(of: DocumentCollection(collection.name)) {
          try table.add(
            [collection.name, index.word, index.field?.name, index.field?.path, index.field?.kind].map { text in
              text.map { .string($0) }
            })
        }
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
