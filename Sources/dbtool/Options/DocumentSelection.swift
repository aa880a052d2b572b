internal import ArgumentParser
internal import Coffer

/// Options that name documents only by key or title.
struct NameOptions: ParsableArguments {
  @Option(
    name: .customLong("key-name"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("The document with this key, whatever it looks like (repeatable).", valueName: "key"))
  var keys: [String] = []

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "The document with this title, or all matches of a glob: * ? [a-z] [!a] (repeatable).", valueName: "title"))
  var title: [String] = []

  func words(_ names: [String], in collection: String?) -> DocumentWords {
    DocumentWords(
      words: names.map { .any($0) } + keys.map { .key($0) } + title.map { .title($0) }, collection: collection)
  }
}

/// Options that determine how words name documents.
struct NamingOptions: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("Look only in this collection.", valueName: "name"))
  var collection: String?

  @OptionGroup var names: NameOptions

  func words(_ names: [String]) -> DocumentWords { self.names.words(names, in: collection) }
}

/// The whole store, some collections, or documents named on the command line.
struct ExtentOptions: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A collection (repeatable; default: all).", valueName: "name"))
  var collections: [String] = []

  @OptionGroup var naming: NameOptions

  @Argument(
    help: ArgumentHelp("Documents by id, id range, key, title or title glob (default: all).", valueName: "name")
  )
  var names: [String] = []

  func validate() throws {
    if collections.count > 1, !words.isEmpty {
      throw ValidationError("documents are looked up in all collections, or in one: give one -c")
    }
  }

  var words: DocumentWords { naming.words(names, in: collections.first) }
}

/// One document named on the command line.
struct DocumentChoice: ParsableArguments {
  @OptionGroup var naming: NamingOptions

  @Argument(help: "The document's id, key or title.")
  var name: String?

  private var words: DocumentWords { naming.words(name.map { [$0] } ?? []) }

  func validate() throws {
    guard words.words.count == 1 else {
      throw ValidationError("name one document by its id, key or title")
    }
  }

  /// - Throws: `noSuchDocument`, or `usage` if the word names several documents.
  func header(in scope: borrowing some StoreReading & ~Copyable, of store: DocumentStore) throws -> DocumentHeader {
    let found = try words.existing(in: scope, of: store)
    guard found.count == 1 else { throw DocumentWords.ambiguous("that name", found) }
    return found[0]
  }
}

/// Documents named on the command line.
struct DocumentSelection: ParsableArguments {
  @OptionGroup var naming: NamingOptions

  @Argument(help: ArgumentHelp("Ids, id ranges (17-20), keys, titles or title globs.", valueName: "name"))
  var names: [String] = []

  func validate() throws {
    if words.isEmpty { throw ValidationError("name documents by their ids, keys or titles") }
  }

  var words: DocumentWords { naming.words(names) }
}

/// A word that names documents.
enum DocumentWord {
  /// Digits are an ID or an ID range. Any other word is a key, or else a title, or else a title glob.
  case any(String)
  case key(String)
  /// A title or title glob.
  case title(String)
}

/// Words that name documents, in all collections or in one.
struct DocumentWords {
  let words: [DocumentWord]
  let collection: String?

  var isEmpty: Bool { words.isEmpty }

  /// A Boolean value that indicates whether the words can name more documents than there are words.
  var isPattern: Bool {
    words.contains { word in
      switch word {
      case .any(let text): IDRange(argument: text).map { $0.bounds.count > 1 } ?? Glob.isPattern(text)
      case .key: false
      case .title(let text): Glob.isPattern(text)
      }
    }
  }

  /// Returns the documents' headers in command-line order, with ranges ordered by ID and globs in list order. A document
  /// that several words name appears once.
  ///
  /// - Throws: `noSuchDocument` with the first word that doesn't name a document, or `usage` if a key or title names
  ///   several documents.
  func existing(
    in scope: borrowing some StoreReading & ~Copyable, of store: DocumentStore
  ) throws -> [DocumentHeader] {
    var usesPattern = false
    return try existing(in: scope, of: store, usesPattern: &usesPattern)
  }

  /// Returns the same headers, and sets `usesPattern` to true if a range or glob named documents.
  func existing(
    in scope: borrowing some StoreReading & ~Copyable, of store: DocumentStore, usesPattern: inout Bool
  ) throws -> [DocumentHeader] {
    var found: [DocumentHeader] = []
    for word in words {
      if case .any(let text) = word, let range = IDRange(argument: text) {
        found += try existing(range, in: scope)
        usesPattern = usesPattern || range.bounds.count > 1
        continue
      }
      // Look up an ID without its collection, because the collection's name may be damaged.
      let collections = try Collections.covered(collection.map { [$0] } ?? [], in: scope, of: store)
      switch word {
      case .any(let text):
        if let document = try document(ofKey: text, in: collections, scope) {
          found.append(document)
        } else {
          found += try documents(titled: text, in: collections, scope, &usesPattern)
        }
      case .key(let key):
        guard let document = try document(ofKey: key, in: collections, scope) else {
          throw Failure.noSuchDocument("nothing\(place) has that key")
        }
        found.append(document)
      case .title(let title): found += try documents(titled: title, in: collections, scope, &usesPattern)
      }
    }
    return found.unique(by: \.id)
  }

  private var place: String { collection.map { " in \($0)" } ?? "" }

  private func existing(
    _ range: IDRange, in scope: borrowing some StoreReading & ~Copyable
  ) throws -> [DocumentHeader] {
    let found = try range.existing(in: scope)
    guard let collection else { return found }
    let id = try scope.info(of: DocumentCollection(collection)).id
    let here = found.filter { $0.collection == id }
    guard !here.isEmpty else { throw Failure.noSuchDocument("no document with that id is in \(collection)") }
    return here
  }

  private func document(
    ofKey key: String, in collections: [String], _ scope: borrowing some StoreReading & ~Copyable
  ) throws -> DocumentHeader? {
    guard (1...DocumentKey.maximumByteCount).contains(key.utf8.count) else { return nil }
    var found: [DocumentHeader] = []
    for name in collections {
      if let id = try scope.id(forKey: DocumentKey(key), in: DocumentCollection(name)) {
        found.append(try scope.header(of: id))
      }
    }
    guard found.count <= 1 else { throw Self.ambiguous("the key \(key)", found) }
    return found.first
  }

  /// Opens the titles of all documents, unless the collections have a title index.
  private func documents(
    titled title: String, in collections: [String], _ scope: borrowing some StoreReading & ~Copyable,
    _ usesPattern: inout Bool
  ) throws -> [DocumentHeader] {
    let glob = Glob.isPattern(title) ? Glob(title) : nil
    var (exact, matching): ([DocumentHeader], [DocumentHeader]) = ([], [])
    for name in collections {
      try scope.forEachHeader(in: DocumentCollection(name)) { header in
        guard let other = header.title else { return }
        if other.utf8.elementsEqual(title.utf8) {
          exact.append(header)
        } else if glob?.matches(other) == true {
          matching.append(header)
        }
      }
    }
    guard exact.count <= 1 else { throw Self.ambiguous("the title \(title)", exact) }
    if let only = exact.first { return [only] }
    guard !matching.isEmpty else { throw Failure.noSuchDocument("nothing\(place) has that id, key or title") }
    usesPattern = true
    return matching
  }

  /// Returns the error for a name that several documents share.
  static func ambiguous(_ name: String, _ found: [DocumentHeader]) -> Failure {
    let shown = found.prefix(10).map(\.id.description).joined(separator: ", ")
    return .usage(
      "\(name) names \(found.count) documents: ids \(shown)\(found.count > 10 ? " and more" : "")",
      hint: "name one by its id")
  }
}

extension Array {
  /// Returns the elements without duplicates of earlier IDs.
  func unique<ID: Hashable>(by id: (Element) -> ID) -> [Element] {
    var seen: Set<ID> = []
    return filter { seen.insert(id($0)).inserted }
  }
}

/// An ID or ID range on the command line: `17`, `17-20`.
struct IDRange: ExpressibleByArgument {
  let bounds: ClosedRange<Int64>

  /// The maximum number of IDs to look up one by one.
  private static let fewNumbers = 1000

  init?(argument: String) {
    // A number with a sign can be a key, such as a telephone number.
    let parts = argument.split(separator: "-", omittingEmptySubsequences: false).map { part in
      part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(part) : nil
    }
    if parts.count == 1, let id = parts[0] {
      bounds = id...id
      return
    }
    guard (1...2).contains(parts.count), let first = parts[0], let last = parts[parts.count - 1], first >= 1,
      first <= last
    else { return nil }
    bounds = first...last
  }

  /// Returns the existing documents.
  ///
  /// - Throws: `noSuchDocument` if the range is empty.
  func existing(in scope: borrowing some StoreReading & ~Copyable) throws -> [DocumentHeader] {
    guard bounds.count > 1 else { return [try scope.header(of: DocumentID(bounds.lowerBound))] }
    var found: [DocumentHeader] = []
    if bounds.count <= Self.fewNumbers {
      for id in bounds where try scope.exists(DocumentID(id)) { found.append(try scope.header(of: DocumentID(id))) }
    } else {
      // List all documents, because IDs can be far apart, and a list takes time only for existing documents.
      for collection in try scope.collectionNames() {
        try scope.forEachHeader(in: DocumentCollection(collection.name)) { header in
          if bounds.contains(header.id.rawValue) { found.append(header) }
        }
      }
      found.sort { $0.id < $1.id }
    }
    guard !found.isEmpty else {
      throw Failure.noSuchDocument("no id from \(bounds.lowerBound) to \(bounds.upperBound) is there")
    }
    return found
  }
}
