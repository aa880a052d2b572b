internal import ArgumentParser
internal import Coffer
internal import CofferFoundation

/// The collection that is made for documents in a store without collections.
let defaultCollection = "documents"

/// The collections that a list covers: one, or all.
struct CollectionChoice: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("One collection (default: all).", valueName: "name"),
    completion: .custom { words, _, _ in CollectionCompletion.numbers(in: words) })
  var collection: String?

  /// Their names; the error for a missing one lists the existing ones.
  func names(in reader: borrowing some StoreReading & ~Copyable, of store: DocumentStore) throws -> [String] {
    try Collections.covered(collection.map { [$0] } ?? [], in: reader, of: store)
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
