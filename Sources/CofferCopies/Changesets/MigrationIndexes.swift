internal import CofferEngine
internal import CofferRecords
internal import CofferSearch

/// The indexes that a store's applied migrations declare.
///
/// A changeset has the names of the applied migrations, but no indexes. The receiver can't repeat the migrations on its
/// documents, which they have already changed.
struct MigrationIndexes {
  private let declaration: IndexDeclaration
  /// The names of the declaration's collections by their numbers.
  private let names: [UInt32: String]

  /// Runs the app's applied migrations in an empty store, as in each new store, and undoes their changes.
  ///
  /// - Throws: Errors of the migrations.
  init(of applied: [String], in empty: StoreEngine) throws(StoreError) {
    let migrations = (empty.options.migrations ?? []).filter { migration in
      applied.contains { $0.isIdentical(to: migration.name) }
    }
    guard !migrations.isEmpty else {
      (declaration, names) = (IndexDeclaration(), [:])
      return
    }
    // Without a commit, the transaction is rolled back.
    (declaration, names) = try empty.writing { transaction throws(StoreError) in
      for migration in migrations { try migration.apply(transaction) }
      let names = try transaction.collections().map { ($0.id, $0.name) }
      return (try StoreIndexes(transaction).declaration(), Dictionary(uniqueKeysWithValues: names))
    }
  }

  /// Declares and builds the indexes of the collections that exist in a store.
  func build(in transaction: StoreTransaction) throws(StoreError) {
    try StoreIndexes(transaction).copy(of: declaration, named: names)
  }
}
