internal import CofferRecords
internal import CofferSQLite

extension StoreEngine {
  /// Changes the declaration of a collection's indexes and builds those that are new, in one transaction.
  func changeIndexes(
    of collection: DocumentCollection, _ progress: ProgressHandler?,
    _ change: (inout IndexDeclaration.Collection) throws(StoreError) -> Void
  ) throws(StoreError) {
    try writing { transaction throws(StoreError) in
      let record = try transaction.requireCollection(collection)
      var declaration = try transaction.indexDeclaration()
      // Entries of a collection that is gone.
      let known = try transaction.collections()
      declaration.collections.removeAll { entry in !known.contains { $0.id == entry.number && $0.uid == entry.uid } }
      let before = declaration.collection(record.id)
      try declaration.change(record, change)
      guard declaration.collection(record.id) != before else { return }
      let step = try Self.step(progress, total: transaction.state.count)
      try transaction.declare(declaration, changing: record.id, step)
      try transaction.commit()
    }
  }

  /// - Parameter makingAgain: makes all indexes from nothing.
  func updateIndexes(_ progress: ProgressHandler?, makingAgain: Bool = false) throws(StoreError) -> Bool {
    let (hasWritten, hasLost) = try writing { transaction throws(StoreError) in
      let step = try Self.step(progress, total: transaction.state.count)
      let hasLost = try transaction.removeStrayIndexes()
      var hasWritten = hasLost
      for part in IndexPart.all {
        guard let root = try transaction.indexRoot(part)?.root else { continue }
        let problem =
          makingAgain ? nil : try IndexPages.problem(of: root, transaction.database, transaction.keys)
        if let problem { log.warning("\(problem.message); it is made again") }
        if makingAgain || problem != nil {
          var new = root
          try new.restart()
          try transaction.rebuild(new, step)
          hasWritten = true
        } else if try transaction.writeIndex(part, progress: step) {
          hasWritten = true
        }
      }
      if hasWritten { try transaction.commit() }
      return (hasWritten, hasLost)
    }
    guard !hasLost else {
      throw StoreError(
        .damaged, "an index could not be opened, and was removed", hint: "declare its indexes again with \(.addIndex)")
    }
    return hasWritten
  }

  /// Compares all indexes with the documents; what is missing in them is added in memory first.
  func checkIndexes(_ progress: ProgressHandler?) throws(StoreError) -> [IndexProblem] {
    try reading { transaction throws(StoreError) in
      let step = try Self.step(progress, total: transaction.state.count, "checking was stopped")
      var problems = try transaction.indexProblems().map { IndexProblem(nil, nil, nil, $0) }
      guard problems.isEmpty else { return problems }
      for part in IndexPart.all {
        do throws(StoreError) {
          guard let file = try transaction.storedIndex(part) else { continue }
          try transaction.update(file)
          try file.watching(transaction) { () throws(StoreError) in
            var check = IndexCheck(transaction, file, step)
            try check.run()
            problems += check.problems
          }
        } catch {
          transaction.connection.closeIndex(part)
          guard error.isIndexDamage else { throw error }
          problems.append(IndexProblem(nil, nil, nil, error.message))
        }
      }
      return problems
    }
  }

  /// Adds what is missing to the indexes in the file, if that is little and no other writer is at work.
  func catchUpIndexes() throws(StoreError) {
    guard !isReadOnly, session.header.compatible & IndexTables.feature != 0, connections.mayWriteAtOnce else { return }
    let behind = try reading { transaction throws(StoreError) in
      var behind: [UInt32] = []
      for part in IndexPart.all {
        guard let root = try transaction.indexRoot(part)?.root else { continue }
        let missing = try transaction.gap(since: root.contents).limit(of: transaction.state.count)
        if (1...IndexGap.caughtUp).contains(missing) { behind.append(part) }
      }
      return behind
    }
    guard !behind.isEmpty else { return }
    do throws(StoreError) {
      try writing(wait: .zero) { transaction throws(StoreError) in
        var hasWritten = false
        for part in behind where try transaction.writeIndex(part, limit: IndexGap.caughtUp) { hasWritten = true }
        if hasWritten { try transaction.commit() }
      }
    } catch {
      // Another writer is at work, the disk is full, or a page is damaged: what is missing is added in memory.
      guard [.locked, .diskFull, .readOnly, .damaged].contains(error.code) else { throw error }
      log.debug("an index was not brought up to date: \(error.message)")
    }
  }

  private static func step(
    _ progress: ProgressHandler?, total: UInt64, _ stopped: String = "indexing was stopped; nothing was changed"
  ) throws(StoreError) -> ((Int) throws(StoreError) -> Void) {
    let counter = Counter()
    return { count throws(StoreError) in
      counter.done += count
      try WorkProgress(done: counter.done, total: max(counter.done, Int(clamping: total))).tell(
        progress, stopped: stopped)
    }
  }

  private final class Counter {
    var done = 0
  }
}

extension StoreTransaction {
  /// Gives the index another declaration, and makes the tables of a collection again.
  fileprivate func declare(
    _ declaration: IndexDeclaration, changing collection: UInt32?,
    _ step: ((Int) throws(StoreError) -> Void)? = nil
  ) throws(StoreError) {
    let tables = IndexTables(database)
    let hasTables = hasIndexes ? try tables.exist() : false
    if !hasTables { try tables.make() }
    for part in IndexPart.all { try write(part, declaration.part(part), changing: collection, step) }
    hasIndexesAfter = try !tables.roots().isEmpty
    if hasIndexesAfter == false { try tables.drop() }
  }

  private func write(
    _ part: UInt32, _ declaration: IndexDeclaration, changing collection: UInt32?,
    _ step: ((Int) throws(StoreError) -> Void)?
  ) throws(StoreError) {
    let tables = IndexTables(database)
    let bytes = declaration.bytes
    guard bytes.count <= IndexRoot.maximumDeclaration else {
      throw StoreError(.tooLarge, "too many indexes are declared")
    }
    guard let found = try indexRoot(part) else {
      guard !declaration.collections.isEmpty else { return try tables.delete(part) }
      let size = try database.integer("PRAGMA page_size") ?? Int64(StoreFormat.pageSize)
      // Pages of an index fit into pages of the store.
      return try rebuild(try IndexRoot(part: part, pageSize: UInt32(max(size, 1024)), declaration: bytes), step)
    }
    var root = found.root
    guard root.declaration != bytes else { return }
    root.declaration = bytes
    guard !declaration.collections.isEmpty else { return try tables.delete(root.part) }
    try tables.put(root, keys)
    connection.closeIndex(root.part)
    try writeIndex(root.part, adding: collection.map { [$0] } ?? [], progress: step)
  }
}

// MARK: - Copies and keys

extension StoreTransaction {
  /// Declares and builds the indexes of another store, as far as their collections are here.
  func copyIndexes(of declaration: IndexDeclaration) throws(StoreError) {
    guard !declaration.collections.isEmpty else { return }
    let known = try collections()
    var copied = declaration
    // Copies of collections keep number and identity.
    copied.collections.removeAll { entry in !known.contains { $0.id == entry.number && $0.uid == entry.uid } }
    guard !copied.collections.isEmpty else { return }
    try declare(copied, changing: nil)
  }

  /// Deletes roots that can't be opened, roots of unknown numbers, and pages without a root.
  ///
  /// - Returns: whether there were any.
  func removeStrayIndexes() throws(StoreError) -> Bool {
    let tables = IndexTables(database)
    guard hasIndexes, try tables.exist() else { return false }
    var sound: [UInt32] = []
    for part in IndexPart.all where try indexRoot(part) != nil { sound.append(part) }
    let hasRemoved = try tables.removeAll(but: sound)
    if hasRemoved, sound.isEmpty {
      hasIndexesAfter = false
      try tables.drop()
    }
    return hasRemoved
  }

  /// Sums and opens every page of every index.
  ///
  /// - Returns: a sentence for each problem.
  func indexProblems() throws(StoreError) -> [String] {
    guard hasIndexes else { return [] }
    let tables = IndexTables(database)
    // Another program may have dropped the tables: only the indexes are lost.
    guard try tables.exist() else { return [] }
    var problems: [String] = []
    if try tables.holdsOthers(than: IndexPart.all) { problems.append("pages of no index are there") }
    for row in try tables.roots() {
      do throws(StoreError) {
        let root = try IndexRoot(part: row.part, epoch: row.epoch, sealed: row.sealed, keys)
        _ = try IndexDeclaration(root.declaration)
        if let problem = try IndexPages.problem(of: root, database, keys) { throw problem }
      } catch {
        guard !error.isPassing else { throw error }
        problems.append(error.message)
      }
    }
    return problems
  }

  /// The roots of all indexes, without pages: under new keys they are built from the documents.
  func emptyIndexRoots() throws(StoreError) -> [IndexRoot] {
    var roots: [IndexRoot] = []
    guard hasIndexes, try IndexTables(database).exist() else { return roots }
    for part in IndexPart.all {
      guard var root = try indexRoot(part)?.root else { continue }
      try root.restart()
      roots.append(root)
    }
    return roots
  }

  /// Deletes all pages, which are sealed under old keys, and writes these roots under the present ones.
  func restartIndexes(_ roots: [IndexRoot]) throws(StoreError) {
    let tables = IndexTables(database)
    guard try tables.exist() else { return }
    try tables.empty()
    for root in roots { try tables.put(root, keys) }
  }
}
