internal import CofferDocuments
package import CofferRecords

// A store's applied migrations, which are the attributes of a collection without documents (FORMAT, "Collections").
// They're part of the set hash, are copied with the store, and can be checked in each transaction.

extension StoreTransaction {
  /// The attribute with the sorted names, so all copies with the same migrations have equal attributes.
  private static let attribute = "applied"

  /// Returns the names of the store's migrations, sorted by their bytes.
  ///
  /// - Throws: `damaged` if another program wrote other contents instead.
  package func appliedMigrations() throws(StoreError) -> [String] { try Self.migrations(in: try storedCollections()) }

  /// Returns the names of the migrations that a store with these collections has made.
  ///
  /// - Throws: `damaged` if another program wrote other contents instead.
  package static func migrations(in collections: [CollectionRecord]) throws(StoreError) -> [String] {
    guard let record = collections.first(where: \.holdsMigrations), !record.isDropped else { return [] }
    let names = record.settings.attributes[attribute]?.array?.map(\.string)
    guard let names, !names.contains(nil) else {
      throw StoreError(
        .damaged, "the list of the store's migrations isn't one", hint: "restore the store from a backup")
    }
    return names.compactMap { $0 }
  }

  /// Replaces the names of the store's migrations.
  func setAppliedMigrations(_ names: [String]) throws(StoreError) {
    let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    let settings = CollectionSettings(attributes: [Self.attribute: .array(sorted.map { .string($0) })])
    try collectionEditor.check(settings.attributes)
    if var record = try storedCollections().first(where: \.holdsMigrations), !record.isDropped {
      record.settings = settings
      try collectionEditor.change(record)
    } else {
      var collections = try NewCollections(self)
      try writer.insertCollection(collections.recordOfMigrations(settings))
    }
  }

  /// Requires that this program knows all of the store's migrations.
  ///
  /// - Throws: `otherFormat`.
  package func requireKnownMigrations(_ known: [Migration]) throws(StoreError) {
    let applied = try appliedMigrations()
    let unknown = applied.filter { name in !known.contains { $0.name.isIdentical(to: name) } }
    guard let first = unknown.first else { return }
    throw StoreError(
      .otherFormat,
      "a newer version of this app changed the store: its migration \(first.debugDescription) isn't known here",
      hint: "update this app")
  }

  /// Requires that another store, whose documents are to be brought into this store, has made the same migrations.
  ///
  /// - Throws: `otherFormat`.
  package func requireSameMigrations(
    as others: [String], at path: String, otherPath: String
  ) throws(StoreError) {
    let own = try appliedMigrations()
    func require(_ names: [String], in list: [String], at path: String) throws(StoreError) {
      guard let first = names.first(where: { name in !list.contains { $0.isIdentical(to: name) } }) else { return }
      throw StoreError(
        .otherFormat, "\(path): the store hasn't made the migration \(first.debugDescription) of the other store",
        hint: "open it with the newest version of the app, which makes it")
    }
    try require(others, in: own, at: path)
    try require(own, in: others, at: otherPath)
  }
}

extension StoreEngine {
  /// Makes the app's migrations that the store lacks, in one transaction.
  ///
  /// - Parameter isEmptying: Whether the transaction first deletes all contents.
  /// - Throws: Errors of the migrations. The store is then unchanged.
  package func migrate(emptying isEmptying: Bool = false) throws(StoreError) {
    do throws(StoreError) {
      try makeMigrations(emptying: isEmptying)
    } catch {
      guard error.code == .damaged, options.migrations != nil else { throw error }
      // The app can't follow the hint in a store that never opens.
      let advice: ErrorHint = error.advice ?? "\(.verify) lists all damage"
      throw StoreError(
        .damaged, error.message, hint: "open it without OpenOptions.migrations first; \(advice)",
        documentID: error.documentID)
    }
  }

  private func makeMigrations(emptying isEmptying: Bool) throws(StoreError) {
    let migrations = options.migrations ?? []
    try Migration.check(migrations)
    if !isEmptying {
      try requireKnownMigrations()
      guard !migrations.isEmpty else { return }
      let pending = try reading { transaction throws(StoreError) in try transaction.pending(migrations) }
      guard let first = pending.first else { return }
      guard !isReadOnly else {
        throw StoreError(
          .readOnly, "\(path): the store can't be read before its migration \(first.name.debugDescription)",
          hint: "open it for writing first")
      }
    }
    // Another process may make them before this transaction begins.
    try writing { transaction throws(StoreError) in
      if isEmptying {
        try transaction.requireNoSyncFolder()
        try transaction.writer.deleteEverything()
      }
      let pending = try transaction.pending(migrations)
      for migration in pending { try migration.apply(transaction) }
      if !pending.isEmpty {
        try transaction.setAppliedMigrations(try transaction.appliedMigrations() + pending.map(\.name))
      }
      try transaction.commit()
      if !pending.isEmpty { log.info("made \(pending.count) migrations") }
    }
    session.checksMigrations = options.migrations != nil
  }

  /// Requires in this and all later transactions that this program knows all of the store's migrations.
  ///
  /// - Throws: `otherFormat`.
  package func requireKnownMigrations() throws(StoreError) {
    guard options.migrations != nil else { return }
    session.checksMigrations = true
    try reading { _ throws(StoreError) in }
  }

  /// Requires in a new transaction that this program knows all of the store's migrations. Doesn't read the store after
  /// this process's commits.
  func checkMigrations(_ transaction: StoreTransaction) throws(StoreError) {
    guard session.checksMigrations, let known = options.migrations,
      session.checkedMigrations != transaction.start.generation
    else { return }
    do throws(StoreError) {
      try transaction.requireKnownMigrations(known)
    } catch {
      transaction.rollback()
      throw error
    }
    session.checkedMigrations = transaction.start.generation
  }
}

extension StoreTransaction {
  /// Requires that the store doesn't sync by a folder, whose other devices would miss what the store loses.
  ///
  /// - Throws: `invalidArgument`.
  package func requireNoSyncFolder() throws(StoreError) {
    guard try replicas.syncMemory == nil else {
      throw StoreError(
        .invalidArgument, "the store syncs by a folder, so its documents can't be replaced as a whole",
        hint: "end that with \(.syncLeave) first")
    }
  }

  fileprivate func pending(_ migrations: [Migration]) throws(StoreError) -> [Migration] {
    let applied = try appliedMigrations()
    return migrations.filter { migration in !applied.contains { $0.isIdentical(to: migration.name) } }
  }
}
