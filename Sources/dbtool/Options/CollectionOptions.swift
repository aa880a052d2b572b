internal import ArgumentParser
internal import Coffer
internal import CofferFoundation

/// The name of the collection that is created in a store without collections.
let defaultCollection = "documents"

/// The collections that a list covers: one, or all.
struct CollectionChoice: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("One collection (default: all).", valueName: "name"),
    completion: .custom { words, _, _ in CollectionCompletion.numbers(in: words) })
  var collection: String?

  /// Returns the names. If the collection is missing, the error lists the existing collections.
  func names(in reader: borrowing some StoreReading & ~Copyable, of store: DocumentStore) throws -> [String] {
    try Collections.covered(collection.map { [$0] } ?? [], in: reader, of: store)
  }
}

/// Collections for shell completion of `-c`. Reads only facts that don't need a key, so it never asks for a key.
enum CollectionCompletion {
  /// - Parameter words: The command line so far.
  /// - Returns: `#1` and so on after `--keyless`, because collections then have numbers.
  static func numbers(in words: [String]) -> [String] {
    guard words.contains("--keyless") else { return [] }
    for word in words.dropFirst(2) where !word.hasPrefix("-") && InputFile.exists(word) {
      guard let info = try? DocumentStore.info(at: URL(filePath: word), wait: .zero) else { continue }
      return info.collections.map(\.0.description)
    }
    return []
  }
}
