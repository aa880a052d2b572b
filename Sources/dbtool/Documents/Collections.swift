internal import Coffer

/// Collections by the names on the command line.
enum Collections {
  /// Throws an error if a collection is missing. The hint lists the existing collections.
  static func require(_ names: [String], in reader: borrowing some StoreReading & ~Copyable, of store: DocumentStore)
    throws
  {
    for name in names {
      guard try !reader.exists(DocumentCollection(name)) else { continue }
      let there = try reader.collectionNames().map(\.name)
      throw Failure(
        .noDocument, kind: "no-such-collection", "there is no collection \(name)",
        hint: there.isEmpty ? "the store is empty" : "there are: \(listed(there))")
    }
  }

  /// Returns the collections that a verb reads: the named collections, which must exist, or all collections.
  static func covered(_ names: [String], in reader: borrowing some StoreReading & ~Copyable, of store: DocumentStore)
    throws -> [String]
  {
    if names.isEmpty { return try reader.collectionNames().map(\.name) }
    try require(names, in: reader, of: store)
    var seen: Set<[UInt8]> = []
    return names.filter { seen.insert(Array($0.utf8)).inserted }
  }

  /// The hint for choosing a collection in most verbs.
  static let choosing = "choose one with -c"

  /// Returns the named collection that a verb writes to, or otherwise the only collection. It can be missing.
  ///
  /// - Returns: ``defaultCollection`` for a store without collections.
  /// - Throws: `usage` with the names if there are several.
  static func target(
    _ name: String?, in reader: borrowing some StoreReading & ~Copyable, hint: String = Collections.choosing
  ) throws -> String {
    try name ?? target(among: reader.collectionNames().map(\.name), hint: hint)
  }

  /// Returns a store's only collection, or ``defaultCollection`` if the store doesn't have collections.
  static func target(among there: [String], hint: String = Collections.choosing) throws -> String {
    guard there.count <= 1 else {
      throw Failure.usage("the store has \(there.count) collections: \(listed(there))", hint: hint)
    }
    return there.first ?? defaultCollection
  }

  /// Returns the named collection that a verb changes, or otherwise the only collection. It must exist.
  ///
  /// - Parameter hint: How the verb names a collection.
  static func existing(
    _ name: String?, in reader: borrowing some StoreReading & ~Copyable, of store: DocumentStore,
    hint: String = Collections.choosing
  ) throws -> String {
    let name = try target(name, in: reader, hint: hint)
    try require([name], in: reader, of: store)
    return name
  }

  /// Returns a note about new collections, because a name may be a typing error. Skips the first collections of a store
  /// if the user named them.
  static func note(new names: [String], beside there: [String], isNamed: Bool) -> String? {
    let names = there.isEmpty ? names.filter { !isNamed && $0 == defaultCollection } : names
    guard !names.isEmpty else { return nil }
    return names.count == 1 ? "\(names[0]) is a new collection" : "\(names.count) new collections: \(listed(names))"
  }

  static func names(in scope: borrowing some StoreReading & ~Copyable) throws -> [CollectionID: String] {
    Dictionary(try scope.collectionNames()) { first, _ in first }
  }
}

extension Sequence<String> {
  /// Returns whether a name is among these. The store distinguishes names that are equal as strings, such as two
  /// compositions of a letter.
  func containsExactly(_ name: String) -> Bool { contains { $0.utf8.elementsEqual(name.utf8) } }
}
