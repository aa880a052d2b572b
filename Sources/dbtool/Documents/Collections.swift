internal import Coffer

/// Collections by the names on the command line.
enum Collections {
  /// Throws if a collection is missing; the hint lists the existing ones.
  static func require(_ names: [String], in reader: borrowing some StoreReading & ~Copyable, of store: DocumentStore)
    throws
  {
    for name in names {
      guard try !reader.exists(DocumentCollection(name)) else { continue }
      let there = try reader.collections().map(\.name)
      throw Failure(
        .noDocument, kind: "no-such-collection", "there is no collection \(name)",
        hint: there.isEmpty ? "the store is empty" : "there are: \(listed(there))")
    }
  }

  /// The named collections, which must exist. Without a name: the default one, where that is missing the only other one,
  /// and none in an empty store.
  static func named(_ names: [String], in reader: borrowing some StoreReading & ~Copyable, of store: DocumentStore)
    throws -> [String]
  {
    // Counting the documents of all collections is slow, so that it is left to the error.
    if names.isEmpty, try !reader.exists(DocumentCollection(defaultCollection)) {
      let there = try reader.collections().map(\.name)
      if there.count <= 1 { return there }
    }
    let wanted = names.isEmpty ? [defaultCollection] : names
    try require(wanted, in: reader, of: store)
    return wanted
  }

  static func names(_ collections: [CollectionInfo]) -> [CollectionID: String] {
    Dictionary(collections.map { ($0.id, $0.name) }) { first, _ in first }
  }
}
