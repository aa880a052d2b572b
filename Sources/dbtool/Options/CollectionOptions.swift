internal import ArgumentParser
internal import Coffer
internal import FoundationEssentials

/// The collection to use if none is named.
let defaultCollection = "documents"

/// The collections that a list covers: one, or all.
struct CollectionChoice: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("The collection (default: documents).", valueName: "name"),
    completion: .custom { words, _, _ in CollectionCompletion.numbers(in: words) })
  var collection: String?

  @Flag(help: "All collections, one after the other.")
  var all = false

  func validate() throws {
    if all, collection != nil { throw ValidationError("give -c or --all, not both") }
  }

  /// Their names; the error for a missing one lists the existing ones.
  func names(in reader: borrowing some ReadScope & ~Copyable, of store: DocumentStore) throws -> [String] {
    all
      ? try reader.collections().map(\.name)
      : try Collections.named(collection.map { [$0] } ?? [], in: reader, of: store)
  }
}

/// Documents named on the command line: by number, or one by its key in a collection.
struct DocumentSelection: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("The collection that --key-name looks in (default: documents).", valueName: "name"))
  var collection: String?

  @Option(
    name: .customLong("key-name"), parsing: .unconditional,
    help: ArgumentHelp("The document with this key, in place of an id.", valueName: "key"))
  var key: String?

  @Argument(help: "Ids of documents.")
  var ids: [Int64] = []

  func validate() throws {
    if ids.isEmpty, key == nil {
      throw ValidationError("name documents by their ids, or one by --key-name")
    }
    if !ids.isEmpty, key != nil {
      throw ValidationError("give ids or --key-name, not both")
    }
    if collection != nil, key == nil {
      throw ValidationError("-c belongs to --key-name: an id names a document in the whole store")
    }
  }

  /// For verbs that work on one document.
  func requireOne() throws {
    guard ids.count <= 1 else { throw ValidationError("name one document only") }
  }

  /// The documents' headers, in the order of the command line.
  ///
  /// - Throws: `noSuchDocument` with the first missing one.
  func existing(
    in scope: borrowing some ReadScope & ~Copyable, of store: DocumentStore
  ) throws -> [DocumentHeader] {
    guard let key else {
      return try ids.map { try scope.header(of: DocumentID($0)) }
    }
    let name = collection ?? defaultCollection
    guard let id = try scope.id(forKey: ExternalKey(key), in: store.collection(name)) else {
      throw Failure.noSuchDocument("nothing in \(name) has that key")
    }
    return [try scope.header(of: id)]
  }
}

/// Collections for a shell that completes `-c`: only what a store shows without a key, so that no key is ever asked for.
enum CollectionCompletion {
  /// - Parameter words: the command line so far.
  /// - Returns: `#1` and so on behind `--keyless`, where collections have numbers.
  static func numbers(in words: [String]) -> [String] {
    guard words.contains("--keyless") else { return [] }
    for word in words.dropFirst(2) where !word.hasPrefix("-") && InputFile.exists(word) {
      guard let info = try? DocumentStore.info(at: URL(filePath: word), wait: .zero) else { continue }
      return info.collections.map(\.0.description)
    }
    return []
  }
}
