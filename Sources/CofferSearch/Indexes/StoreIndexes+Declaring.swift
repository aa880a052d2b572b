package import CofferEngine
package import CofferRecords
internal import CofferSQLite
internal import Synchronization

extension StoreIndexes {
  /// Replaces the index declaration and rebuilds a collection's tables.
  func declare(
    _ declaration: IndexDeclaration, changing collection: UInt32?,
    _ step: ((Int) throws(StoreError) -> Void)? = nil
  ) throws(StoreError) {
    let tables = IndexTables(transaction.database)
    let hasTables = transaction.hasIndexes ? try tables.exist() : false
    if !hasTables {
      try tables.make()
      try transaction.forgetIndexes()
    }
    for part in IndexPart.all { try write(part, declaration.part(part), changing: collection, step) }
    transaction.hasIndexesAfter = try !tables.roots().isEmpty
    if transaction.hasIndexesAfter == false { try tables.drop() }
  }

  private func write(
    _ part: UInt32, _ declaration: IndexDeclaration, changing collection: UInt32?,
    _ step: ((Int) throws(StoreError) -> Void)?
  ) throws(StoreError) {
    let bytes = declaration.bytes
    guard bytes.count <= IndexRoot.maximumDeclaration else {
      throw StoreError(.tooLarge, "too many indexes are declared")
    }
    guard let found = try root(part) else {
      guard !declaration.collections.isEmpty else { return try delete(part) }
      let size = try transaction.database.integer("PRAGMA page_size") ?? Int64(StoreFormat.pageSize)
      // An index page must fit into a store page.
      return try rebuild(try IndexRoot(part: part, pageSize: UInt32(max(size, 1024)), declaration: bytes), step)
    }
    var root = found.root
    guard root.declaration != bytes else { return }
    root.declaration = bytes
    guard !declaration.collections.isEmpty else { return try delete(part) }
    guard !root.isOtherVersion else { return try rebuild(root, step) }
    try transaction.put(root)
    transaction.connection.openIndexes.close(root.part)
    try write(root.part, adding: collection.map { [$0] } ?? [], isNewDeclaration: true, progress: step)
  }
}

// MARK: - Values

extension StoreIndexes {
  /// Counts the values of a collection's fields. Adds missing documents to the index in memory.
  func fields(of collection: UInt32) throws(StoreError) -> [IndexedField] {
    guard let entry = try declaration().collection(collection), !entry.fields.isEmpty,
      let opened = try reopen(IndexPart.contents)
    else { return [] }
    let file = try update(opened)
    return try file.watching(transaction) { () throws(StoreError) in try file.fields(of: entry) }
  }
}

extension IndexFile {
  /// Counts the values of a collection's fields.
  func fields(of entry: IndexDeclaration.Collection) throws(StoreError) -> [IndexedField] {
    guard !entry.fields.isEmpty else { return [] }
    return try run { database throws(SQLiteError) in
      let columns = entry.fields.indices.map { "count(\(ContentIndex.column($0)))" }
      let row = try database.query(
        "SELECT count(*),\(columns.joined(separator: ",")) FROM main.\(ContentIndex.fields(entry.number))"
      ).rows[0].values.map { Int($0.integer ?? 0) }
      return entry.fields.enumerated().map { index, field in
        IndexedField(name: field.name, values: row[index + 1], nulls: row[0] - row[index + 1])
      }
    }
  }
}

// MARK: - Copies and keys

extension StoreIndexes {
  /// Declares and builds another store's indexes for the collections that exist in this store.
  ///
  /// - Parameter names: The names of the other store's collections, to find them by name instead of number, or `nil`.
  package func copy(of declaration: IndexDeclaration, named names: [UInt32: String]? = nil) throws(StoreError) {
    guard !declaration.collections.isEmpty else { return }
    let known = try transaction.collections()
    var copied = declaration
    copied.collections = declaration.collections.compactMap { entry in
      // Copied collections keep their number, but not always their identity.
      let record = known.first { record in
        if let names { names[entry.number]?.isIdentical(to: record.name) == true } else { record.id == entry.number }
      }
      guard let record else { return nil }
      var entry = entry
      (entry.number, entry.uid) = (record.id, record.uid)
      return entry
    }
    copied.collections.sort { $0.number < $1.number }
    guard !copied.collections.isEmpty else { return }
    try declare(copied, changing: nil)
  }

  /// Deletes invalid roots, roots with unknown numbers, and pages without a root.
  ///
  /// - Returns: Whether it deleted any rows.
  func removeStray() throws(StoreError) -> Bool {
    let tables = IndexTables(transaction.database)
    guard transaction.hasIndexes, try tables.exist() else { return false }
    var sound: [UInt32] = []
    for part in IndexPart.all where try isSoundOrOfOtherVersion(part) { sound.append(part) }
    let hasRemoved = try tables.removeAll(but: sound)
    if hasRemoved { try transaction.forgetIndexes(but: sound) }
    if hasRemoved, sound.isEmpty {
      transaction.hasIndexesAfter = false
      try tables.drop()
    }
    return hasRemoved
  }

  private func isSoundOrOfOtherVersion(_ part: UInt32) throws(StoreError) -> Bool {
    if try root(part) != nil { return true }
    guard let row = try IndexTables(transaction.database).root(of: part) else { return false }
    do throws(StoreError) {
      return try IndexRoot(part: part, epoch: row.epoch, sealed: row.sealed, transaction.keys).isOtherVersion
    } catch {
      guard error.code == .damaged else { throw error }
      return false
    }
  }

  /// Decrypts all of an index's pages, and compares them with its root and its tables with its declaration.
  ///
  /// - Returns: The problem, or `nil` if the index is valid.
  func problem(of root: IndexRoot) throws(StoreError) -> StoreError? {
    if let problem = try IndexPages.problem(of: root, transaction.database, transaction.keys) { return problem }
    do throws(StoreError) {
      _ = try IndexFile(root, sealed: [], transaction, .inMemory(PageBudget(0)))
      return nil
    } catch {
      guard error.isIndexDamage else { throw error }
      return error
    }
  }

  /// Returns the error for an index that the state names but whose declaration is lost with its root, or `nil`.
  func lostDeclaration(of part: UInt32) throws(StoreError) -> StoreError? {
    guard transaction.hasIndexes, transaction.state[index: part] != nil, try root(part) == nil else { return nil }
    return IndexRoot.lost
  }

  /// Decrypts all index pages and compares them with their roots.
  package func problems() throws(StoreError) -> [Verdict.IndexProblem] {
    guard transaction.hasIndexes else { return [] }
    let tables = IndexTables(transaction.database)
    // If another program dropped the tables, only indexes are lost.
    guard try tables.exist() else { return [] }
    var problems: [Verdict.IndexProblem] = []
    if try tables.containsRows(outside: IndexPart.all) {
      problems.append(Verdict.IndexProblem("pages of no index are there"))
    }
    for row in try tables.roots() {
      do throws(StoreError) {
        let root = try IndexRoot(part: row.part, epoch: row.epoch, sealed: row.sealed, transaction.keys)
        guard !root.isOtherVersion else { continue }
        guard root.identity == transaction.state[index: row.part] else { throw IndexRoot.earlier }
        _ = try IndexDeclaration(root.declaration)
        if let problem = try problem(of: root) { throw problem }
      } catch {
        guard !error.isTransient else { throw error }
        problems.append(Verdict.IndexProblem(error.message))
      }
    }
    return problems
  }
}
