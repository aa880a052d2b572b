internal import ArgumentParser
internal import Coffer

/// The collection to use if none is named.
let defaultCollection = "documents"

/// The collections that a list covers: one, or all.
struct CollectionChoice: ParsableArguments {
  @Option(
    name: [.customShort("c"), .customLong("collection")], parsing: .unconditional,
    help: ArgumentHelp("The collection (default: documents).", valueName: "name"))
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
