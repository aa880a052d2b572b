internal import ArgumentParser
internal import Coffer

/// One document named on the command line: by its id, or by its key in a collection.
struct DocumentChoice: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("The collection that --key-name looks in (default: documents).", valueName: "name"))
  var collection: String?

  @Option(
    name: .customLong("key-name"), parsing: .unconditional,
    help: ArgumentHelp("The document with this key, in place of an id.", valueName: "key"))
  var key: String?

  @Argument(help: "The document's id.")
  var id: Int64?

  func validate() throws {
    guard (id == nil) != (key == nil) else {
      throw ValidationError("name one document by its id, or by --key-name")
    }
    if collection != nil, key == nil {
      throw ValidationError("-c belongs to --key-name: an id names a document in the whole store")
    }
  }

  /// - Throws: `noSuchDocument`.
  func header(in scope: borrowing some StoreReading & ~Copyable, of store: DocumentStore) throws -> DocumentHeader {
    guard let key else { return try scope.header(of: DocumentID(id!)) }
    return try scope.header(ofKey: key, in: collection ?? defaultCollection, of: store)
  }
}

/// Documents named on the command line: by ids and ranges of ids, by the keys or titles that they have in a collection.
struct DocumentSelection: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("The collection that --key-name and --title look in (default: documents).", valueName: "name"))
  var collection: String?

  @Option(
    name: .customLong("key-name"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("The document with this key (repeatable).", valueName: "key"))
  var keys: [String] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The documents whose title this glob matches: * ? [a-z] [!a].", valueName: "glob"))
  var title: String?

  @Argument(help: ArgumentHelp("Ids of documents, or ranges of them (17-20).", valueName: "id"))
  var ids: [IDRange] = []

  func validate() throws {
    guard [!ids.isEmpty, !keys.isEmpty, title != nil].count(where: { $0 }) == 1 else {
      throw ValidationError("name documents by ids, by --key-name or by --title: one of them")
    }
    if collection != nil, !ids.isEmpty {
      throw ValidationError("-c belongs to --key-name and --title: an id names a document in the whole store")
    }
  }

  var words: DocumentWords { DocumentWords(ids: ids, keys: keys, title: title, collection: collection) }
}

/// Words that name documents: ids and ranges of them, keys, or a glob of titles.
struct DocumentWords {
  let ids: [IDRange]
  let keys: [String]
  let title: String?
  /// The collection of keys and titles.
  let collection: String?

  var isEmpty: Bool { ids.isEmpty && keys.isEmpty && title == nil }

  /// Whether they may name more documents than there are words.
  var isPattern: Bool { title != nil || ids.contains { $0.bounds.count > 1 } }

  /// The documents' headers in the order of the command line, those of a range by id, those of a title as in the list.
  ///
  /// - Parameter isReading: without -c, a verb that reads takes the only collection of a store that lacks the default one.
  /// - Throws: `noSuchDocument` with the first word that names nothing.
  func existing(
    in scope: borrowing some StoreReading & ~Copyable, of store: DocumentStore, isReading: Bool
  ) throws -> [DocumentHeader] {
    if let title {
      let name = try collection(in: scope, of: store, isReading)
      let glob = Glob(title)
      var found: [DocumentHeader] = []
      try scope.forEachHeader(in: DocumentCollection(name)) { header in
        if glob.matches(header.title ?? "") { found.append(header) }
      }
      guard !found.isEmpty else { throw Failure.noSuchDocument("no title in \(name) matches") }
      return found
    }
    if !keys.isEmpty {
      let name = try collection(in: scope, of: store, isReading)
      return try keys.map { try scope.header(ofKey: $0, in: name, of: store) }
    }
    var found: [DocumentHeader] = []
    for range in ids { found += try range.existing(in: scope) }
    return found
  }

  private func collection(
    in scope: borrowing some StoreReading & ~Copyable, of store: DocumentStore, _ isReading: Bool
  ) throws -> String {
    if isReading, collection == nil {
      return try Collections.named([], in: scope, of: store).first ?? defaultCollection
    }
    let name = collection ?? defaultCollection
    try Collections.require([name], in: scope, of: store)
    return name
  }
}

/// An id, or a range of ids, as the command line names it: `17`, `17-20`.
struct IDRange: ExpressibleByArgument {
  let bounds: ClosedRange<Int64>

  /// Up to so many numbers are asked for one by one.
  private static let fewNumbers = 1000

  init?(argument: String) {
    if let id = Int64(argument) {
      bounds = id...id
      return
    }
    let parts = argument.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
    guard (1...2).contains(parts.count), let first = parts[0], let last = parts[parts.count - 1], first >= 1,
      first <= last
    else { return nil }
    bounds = first...last
  }

  /// The documents that are there.
  ///
  /// - Throws: `noSuchDocument` if there are none.
  func existing(in scope: borrowing some StoreReading & ~Copyable) throws -> [DocumentHeader] {
    guard bounds.count > 1 else { return [try scope.header(of: DocumentID(bounds.lowerBound))] }
    var found: [DocumentHeader] = []
    if bounds.count <= Self.fewNumbers {
      for id in bounds where try scope.exists(DocumentID(id)) { found.append(try scope.header(of: DocumentID(id))) }
    } else {
      // Ids may be far apart: a list takes as long as there are documents.
      for collection in try scope.collections() {
        try scope.forEachHeader(in: collection.handle) { header in
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

extension StoreReading where Self: ~Copyable {
  /// - Throws: `noSuchDocument`.
  fileprivate func header(ofKey key: String, in name: String, of store: DocumentStore) throws -> DocumentHeader {
    guard let id = try id(forKey: DocumentKey(key), in: DocumentCollection(name)) else {
      throw Failure.noSuchDocument("nothing in \(name) has that key")
    }
    return try header(of: id)
  }
}
