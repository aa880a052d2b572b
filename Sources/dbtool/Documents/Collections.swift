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
        hint: there.isEmpty ? "the store is empty" : "there are: \(listed(there))")
    }
  }

  /// The collections that are meant: those named, or the usual one, all of which must be there. Where none is named and
  /// the store has none yet, none.
  static func named(_ names: [String], in reader: borrowing some ReadScope & ~Copyable, of store: DocumentStore)
    throws -> [String]
  {
    // What collections hold is counted only where it must be said which there are.
    if names.isEmpty, try !reader.exists(store.collection(defaultCollection)), try reader.collections().isEmpty {
      return []
    }
    let wanted = names.isEmpty ? [defaultCollection] : names
    try require(wanted, in: reader, of: store)
    return wanted
  }

  static func names(_ collections: [CollectionInfo]) -> [CollectionID: String] {
    Dictionary(collections.map { ($0.id, $0.name) }) { first, _ in first }
  }
}
