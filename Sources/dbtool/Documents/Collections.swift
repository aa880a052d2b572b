internal import Coffer

/// Collections by the names on the command line.
enum Collections {
  /// Throws, naming those that are there, where one is missing.
  static func require(_ names: [String], in reader: borrowing some ReadScope & ~Copyable, of store: DocumentStore)
    throws
  {
    for name in names {
      guard try !reader.exists(store.collection(name)) else { continue }
      let there = try reader.collections().map(\.name)
      throw Failure(
        .noDocument, kind: "no-such-collection", "there is no collection \(name)",
        hint: there.isEmpty ? "the store is empty" : "there are: \(there.joined(separator: ", "))")
    }
  }

  static func names(_ collections: [CollectionInfo]) -> [CollectionID: String] {
    Dictionary(collections.map { ($0.id, $0.name) }) { first, _ in first }
  }
}
