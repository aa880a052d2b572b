internal import ArgumentParser
internal import Coffer

/// `index list|add|update|check|drop STORE`: manages indexes, so searches and queries can skip documents.
struct IndexVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "index",
    abstract: "List, add, update, check or drop indexes.",
    discussion: """
      An index is sealed like the documents, and you can always drop and rebuild it. Verbs that write update an index \
      when it lacks 256 documents or about 60 commits. Until then, a search or query adds the changes in memory. \
      'index update' writes them to the file.

        dbtool index add texts.coffer -c notes words substrings titles
        dbtool index add shop.coffer -c orders price=$.price:number 'day=$.date:date'
        dbtool index list shop.coffer
      """,
    subcommands: [
      IndexListVerb.self, IndexAddVerb.self, IndexUpdateVerb.self, IndexCheckVerb.self, IndexDropVerb.self,
    ])
}

struct IndexListVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List indexes: collection, index, field, path, kind.",
    discussion: """
        dbtool index list texts.coffer
      """)

  @OptionGroup var options: StoreOptions

  func run() throws {
    let store = try options.open(readOnly: true)
    var table = options.common.table(["collection", "index", "field", "path", "kind"])
    try store.read { reader in
      for collection in try reader.collectionNames() {
        for index in try reader.indexes(of: DocumentCollection(collection.name)) {
          try table.add(
            [
              collection.name, index.word, index.fieldNames, index.field?.path ?? index.members, index.field?.kind,
            ].map { text in
              text.map { .string($0) }
            })
        }
      }
    }
    try store.close()
    try table.finish()
  }
}

struct IndexAddVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Index a collection.",
    discussion: """
      words: for 'search --ranked'. words:diacritics distinguishes words that differ in accents or other marks. --in \
      limits words to titles, attachment names and strings in members of values.
      substrings: every three consecutive letters, for 'search'.
      titles: titles, dates and sizes, for 'ls'.

      NAME=PATH:KIND is a column for 'query'. PATH is the path of a value in JSON texts ($.price, $.tags[0]), or \
      @created, @modified, @size, @title, @key or @attributes.NAME. KIND is number (true and false are 1 and 0), \
      boolean (only true and false, as 1 and 0), text, folded (text without differences in case and composition) or \
      date (ISO 8601, or seconds since 2001, like dates that Swift writes). A note counts the documents without a \
      value of this kind.

      NAME,NAME indexes 2 to 8 fields together, for a 'query' that compares the first fields and sorts by the last.

        dbtool index add texts.coffer -c notes words substrings titles
        dbtool index add mail.coffer -c inbox words --in '$.text'
        dbtool index add mail.coffer -c inbox \\
          'thread=$.thread:text' 'day=$.date:date' thread,day
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup var choice: IndexChoice

  @Option(
    name: .customLong("in"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Limit words to this member of values, such as $.text (repeatable).", valueName: "path"))
  var members: [String] = []

  @Argument(
    help: ArgumentHelp(
      "words, words:diacritics, substrings, titles, NAME=PATH:KIND, or NAME,NAME.", valueName: "index"))
  var words: [String]

  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func validate() throws {
    _ = try indexes()
    if words.contains("words"), words.contains("words:diacritics") {
      throw ValidationError("a collection has one index of words: give words or words:diacritics")
    }
    if !members.isEmpty, !words.contains("words"), !words.contains("words:diacritics") {
      throw ValidationError("--in limits an index of words: add words or words:diacritics")
    }
  }

  private func indexes() throws -> [DocumentIndex] {
    try words.map { word in
      if let index = DocumentIndex(word: word, members) { return index }
      if !word.contains("="), word.contains(",") { return .fields(word.split(separator: ",").map(String.init)) }
      guard let equals = word.firstIndex(of: "="), let colon = word.lastIndex(of: ":"), equals < colon,
        let kind = DocumentIndex.Kind(rawValue: String(word[word.index(after: colon)...]))
      else {
        throw ValidationError(
          "an index is words, words:diacritics, substrings, titles, NAME=PATH:KIND such as price=$.price:number, or "
            + "NAME,NAME for fields together; kinds are "
            + DocumentIndex.Kind.allCases.map(\.rawValue).joined(separator: ", "))
      }
      return .field(String(word[..<equals]), String(word[word.index(after: equals)..<colon]), as: kind)
    }
  }

  func run() throws {
    let store = try options.open(readOnly: false)
    let bar = Progress("index", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    let indexes = try indexes()
    defer { bar.finish() }
    let collection = try choice.collection(in: store)
    let fields = try Interrupt.deferring { try store.index(collection, indexes) { try bar.step($0) } }
    bar.finish()
    try store.close()
    let added = Set(indexes.compactMap { $0.field?.name })
    for field in fields where field.nulls > 0 && added.contains(field.name) {
      options.common.diagnostics.note(
        "\(field.name): \(field.values) of \(counted(field.values + field.nulls, "document")) have a value of that kind there"
      )
    }
    guard options.common.isMachineReadable else { return }
    try Report([
      ("collection", .string(collection.name)), ("added", .array(indexes.map { .string($0.name) })),
    ]).print(as: options.common.listFormat)
  }
}

struct IndexDropVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "drop",
    abstract: "Remove indexes from a collection.",
    discussion: """
        dbtool index drop shop.coffer -c orders words price
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup var choice: IndexChoice

  @Argument(
    help: ArgumentHelp(
      "words, substrings, titles, a field name, or names of fields together (default: all).", valueName: "index")
  )
  var words: [String] = []

  func run() throws {
    let store = try options.open(readOnly: false)
    let collection = try choice.collection(in: store)
    let declared = try store.read { try $0.indexes(of: collection) }
    let there = declared.map(\.name)
    let named = words.map { $0 == "words" && there.contains("words:diacritics") ? "words:diacritics" : $0 }
    if let missing = named.first(where: { !there.containsExactly($0) }) {
      throw Failure(
        .noDocument, kind: "no-index", "the collection has no index \(missing)",
        hint: there.isEmpty ? nil : "there are: \(listed(there))")
    }
    try store.dropIndexes(collection, declared.filter { named.containsExactly($0.name) })
    try store.close()
  }
}

struct IndexUpdateVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update",
    abstract: "Update all indexes, and rebuild damaged indexes.",
    discussion: """
        dbtool index update texts.coffer
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func run() throws {
    let store = try options.open(readOnly: false)
    let bar = Progress("index", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let isChanged = try Interrupt.deferring { try store.updateIndexes { try bar.step($0) } }
    bar.finish()
    try store.close()
    guard options.common.isMachineReadable else { return }
    try Report([("changed", .bool(isChanged))]).print(as: options.common.listFormat)
  }
}

struct IndexCheckVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Compare every index with the documents (exit code 20 if an index differs).",
    discussion: """
        dbtool index check texts.coffer
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup(title: "Everywhere") var progress: ProgressOptions

  func run() throws {
    let store = try options.open(readOnly: true)
    let bar = Progress("index", unit: "document", style: progress.progress, isQuiet: options.common.quiet)
    defer { bar.finish() }
    let (problems, fields) = try store.checkIndexes { bar.update($0) }
    bar.finish()
    for (collection, field) in fields where problems.isEmpty && field.nulls > 0 {
      options.common.diagnostics.note(
        "\(collection).\(field.name): \(counted(field.nulls, "document")) without a value")
    }
    try store.close()
    var table = options.common.table(["collection", "index", "field", "id", "problem"], numbers: ["id"])
    for problem in problems {
      try table.add([
        problem.collection.map { .string($0) }, problem.index.map { .string($0.word) },
        problem.index?.fieldNames.map { .string($0) }, problem.documentID.map { .integer($0.rawValue) },
        .string(problem.message),
      ])
    }
    try table.finish()
    guard !problems.isEmpty else { return }
    throw Failure(
      .damaged, kind: "damaged", "the indexes of \(options.store.path) differ from its documents",
      hint: "the documents are not affected; 'index drop' and 'index add' make an index again")
  }
}

/// The collection whose indexes change.
struct IndexChoice: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("The collection (default: the only collection).", valueName: "name"))
  var collection: String?

  func collection(in store: DocumentStore) throws -> DocumentCollection {
    try store.read { DocumentCollection(try Collections.existing(collection, in: $0, of: store)) }
  }
}

extension Progress {
  /// Updates the bar, and ends the work after a signal. Before the first step, a signal ends the wait for the lock.
  fileprivate func step(_ progress: WorkProgress) throws {
    update(progress)
    try Interrupt.check()
  }
}

extension CommonOptions {
  fileprivate func table(_ columns: [String], numbers: Set<String> = []) -> TableWriter {
    TableWriter(columns: columns.map { .init(name: $0, isNumber: numbers.contains($0)) }, format: listFormat)
  }
}

extension DocumentIndex {
  /// Creates an index that isn't a field from its word.
  fileprivate init?(word: String, _ members: [String] = []) {
    switch word {
    case "words": self = .words(in: members)
    case "words:diacritics": self = .words(in: members, keepingDiacritics: true)
    case "substrings": self = .substrings
    case "titles": self = .titles
    default: return nil
    }
  }

  fileprivate var word: String {
    switch self {
    case .words(_, let keepsDiacritics): keepsDiacritics ? "words:diacritics" : "words"
    case .substrings: "substrings"
    case .field: "field"
    case .fields: "fields"
    case .titles: "titles"
    }
  }

  /// The name that drops the index.
  fileprivate var name: String {
    switch self {
    case .field(let name, _, _): name
    case .fields(let names): names.joined(separator: ",")
    case .words, .substrings, .titles: word
    }
  }

  /// The paths of the members that limit words, or `nil` if words aren't limited.
  fileprivate var members: String? {
    guard case .words(let members, _) = self, !members.isEmpty else { return nil }
    return members.joined(separator: ",")
  }

  /// The name of a field, or the names of several fields.
  fileprivate var fieldNames: String? {
    switch self {
    case .field, .fields: name
    case .words, .substrings, .titles: nil
    }
  }

  fileprivate var field: (name: String, path: String, kind: String)? {
    guard case .field(let name, let path, let kind) = self else { return nil }
    return (name, path, kind.rawValue)
  }
}
