internal import CofferRecords

/// A named change to a store's contents, such as a new index, that's applied once to each store.
///
/// ```swift
/// options.migrations = [
///   Migration("split archive") { tx in
///     for note in try tx.headers(in: "notes") where note.attributes["archived"] == true {
///       try tx.move(note.id, into: "archive")
///     }
///   },
///   Migration("search in archive") { tx in try tx.setIndexes([.words()], of: "archive") },
/// ]
/// ```
///
/// A store's migration names are its application version (``OpenOptions/migrations``). Never rename or remove a
/// released migration.
public struct Migration: Sendable {
  /// The name, which identifies the migration in every store.
  public let name: String
  package let run: @Sendable (StoreTransaction) throws -> Void

  package init(name: String, run: @escaping @Sendable (StoreTransaction) throws -> Void) {
    (self.name, self.run) = (name, run)
  }

  /// The maximum length of a name in UTF-8 bytes.
  private static let maximumName = 128

  /// - Throws: `invalidArgument` for an invalid or repeated name.
  static func check(_ migrations: [Migration]) throws(StoreError) {
    var names: Set<[UInt8]> = []
    for migration in migrations {
      guard (1...maximumName).contains(migration.name.utf8.count) else {
        throw StoreError(.invalidArgument, "the name of a migration has 1 to \(maximumName) bytes")
      }
      guard names.insert(Array(migration.name.utf8)).inserted else {
        throw StoreError(
          .invalidArgument, "two migrations have the name \(migration.name.debugDescription)",
          hint: "give the later one another name")
      }
    }
  }

  /// Runs the migration, and adds its name to its errors.
  package func apply(_ transaction: StoreTransaction) throws(StoreError) {
    let place = "the migration \(name.debugDescription) failed"
    do {
      try run(transaction)
    } catch let error as StoreError {
      throw StoreError(error.code, "\(place): \(error.message)", hint: error.advice, documentID: error.documentID)
    } catch {
      throw StoreError(
        .migrationFailed, "\(place): its code threw \(type(of: error))",
        hint: "the store is as before: correct the migration, and open the store again")
    }
  }
}
