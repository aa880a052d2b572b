package import CofferEngine
package import CofferRecords
internal import CofferSQLite
internal import Synchronization

extension StoreEngine {
  /// Verifies the whole store, including its indexes. A full verification compares them with the documents.
  package func verify(
    _ depth: Verdict.Depth, against anchor: StoreAnchor?, requiring requirement: StoreAnchor.Requirement,
    allowingRekey allowsRekey: Bool, progress: ProgressHandler?
  ) throws(StoreError) -> Verdict {
    var verdict = try verify(
      depth, against: anchor, requiring: requirement, allowingRekey: allowsRekey, progress: progress
    ) { transaction throws(StoreError) in try transaction.indexProblems() }
    // Damaged documents can't be compared, and an index never matches other documents.
    guard depth == .full, verdict.damaged.isEmpty, verdict.problems.isEmpty, verdict.setMatches, verdict.countMatches,
      verdict.indexProblems.isEmpty
    else { return verdict }
    let documents = verdict.documents
    let finishing = progress.map { progress -> ProgressHandler in
      { _ in try progress(WorkProgress(done: documents, total: documents, phase: .finishing)) }
    }
    do throws(StoreError) {
      verdict.indexProblems = try checkIndexes(finishing)
    } catch {
      switch (error.code, error.documentID) {
      // The documents that an index lacks exceed the memory limit, which isn't damage.
      case (.indexBehind, _): log.info("the indexes were not compared: \(error.message)")
      // A document or collection was damaged after it was verified.
      case (.damaged, let id?): verdict.damaged.append(Verdict.Damage(id: id, reason: error.message))
      case (.damaged, nil): verdict.problems.append(error.message)
      default: throw error
      }
    }
    return verdict
  }

  /// Changes a collection's index declaration and builds new indexes in one transaction.
  package func changeIndexes(
    of collection: DocumentCollection, _ progress: ProgressHandler?,
    _ change: (inout IndexDeclaration.Collection) throws(StoreError) -> Void
  ) throws(StoreError) {
    try writing { transaction throws(StoreError) in
      let record = try transaction.requireCollection(collection)
      var declaration = try transaction.indexDeclaration()
      // Remove entries for deleted collections.
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

  /// Updates outdated indexes and rebuilds damaged indexes, or rebuilds all indexes if `rebuildsAll` is true.
  package func updateIndexes(_ progress: ProgressHandler?, rebuildsAll: Bool = false) throws(StoreError) -> Bool {
    let (hasWritten, hasRemovedIndexes) = try writing { transaction throws(StoreError) in
      let step = try Self.step(progress, total: transaction.state.count)
      let hasRemovedIndexes = try transaction.removeStrayIndexes()
      var hasWritten = hasRemovedIndexes
      for part in IndexPart.all {
        guard let root = try transaction.indexRoot(part)?.root else { continue }
        let problem =
          rebuildsAll ? nil : try IndexPages.problem(of: root, transaction.database, transaction.keys)
        if let problem { log.warning("\(problem.message); it is made again") }
        if rebuildsAll || problem != nil {
          var new = root
          try new.restart()
          try transaction.rebuild(new, step)
          hasWritten = true
        } else if try transaction.writeIndex(part, progress: step) {
          hasWritten = true
        }
      }
      if hasWritten { try transaction.commit() }
      return (hasWritten, hasRemovedIndexes)
    }
    guard !hasRemovedIndexes else {
      throw StoreError(
        .damaged, "an index could not be opened, and was removed", hint: "declare its indexes again with \(.addIndex)")
    }
    return hasWritten
  }

  /// Compares all indexes with the documents, after adding missing documents in memory.
  package func checkIndexes(_ progress: ProgressHandler?) throws(StoreError) -> [Verdict.IndexProblem] {
    try reading { transaction throws(StoreError) in
      let step = try Self.step(progress, total: transaction.state.count, "checking was stopped")
      var problems = try transaction.indexProblems()
      guard problems.isEmpty else { return problems }
      for part in IndexPart.all {
        do throws(StoreError) {
          guard let file = try transaction.reopenIndex(part) else { continue }
          try transaction.update(file)
          try file.watching(transaction) { () throws(StoreError) in
            var check = IndexCheck(transaction, file, step)
            try check.run()
            problems += check.problems
          }
        } catch {
          transaction.connection.openIndexes.close(part)
          guard error.isIndexDamage else { throw error }
          problems.append(Verdict.IndexProblem(error.message))
        }
      }
      return problems
    }
  }

  /// Updates the indexes in the file after a reader had to update them in memory, if little is missing and no other
  /// writer is active.
  package func updateOutdatedIndexes() {
    guard session.hasOutdatedIndexes.load(ordering: .relaxed), !isReadOnly, connections.canWriteImmediately else {
      return
    }
    session.hasOutdatedIndexes.store(false, ordering: .relaxed)
    do throws(StoreError) {
      try writeOutdatedIndexes()
    } catch {
      // Another writer is active, the disk is full, or a page is damaged. Readers update the indexes in memory.
      log.debug("an index was not brought up to date: \(error.message)")
    }
  }

  private func writeOutdatedIndexes() throws(StoreError) {
    let behind = try reading { transaction throws(StoreError) in
      var behind: [UInt32] = []
      for part in IndexPart.all {
        guard let root = try transaction.indexRoot(part)?.root else { continue }
        let missing = try transaction.gap(since: root.contents).limit(of: transaction.state.count)
        if (1...IndexGap.automaticUpdateLimit).contains(missing) { behind.append(part) }
      }
      return behind
    }
    guard !behind.isEmpty else { return }
    try writing(wait: .zero) { transaction throws(StoreError) in
      var hasWritten = false
      for part in behind where try transaction.writeIndex(part, limit: IndexGap.automaticUpdateLimit) {
        hasWritten = true
      }
      if hasWritten { try transaction.commit() }
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
  /// Replaces the index declaration and rebuilds a collection's tables.
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
      // An index page must fit into a store page.
      return try rebuild(try IndexRoot(part: part, pageSize: UInt32(max(size, 1024)), declaration: bytes), step)
    }
    var root = found.root
    guard root.declaration != bytes else { return }
    root.declaration = bytes
    guard !declaration.collections.isEmpty else { return try tables.delete(root.part) }
    try tables.put(root, keys)
    connection.openIndexes.close(root.part)
    try writeIndex(root.part, adding: collection.map { [$0] } ?? [], progress: step)
  }
}

// MARK: - Copies and keys

extension StoreTransaction {
  /// Declares and builds another store's indexes for the collections that exist in this store.
  package func copyIndexes(of declaration: IndexDeclaration) throws(StoreError) {
    guard !declaration.collections.isEmpty else { return }
    let known = try collections()
    var copied = declaration
    // Copied collections keep their number and identity.
    copied.collections.removeAll { entry in !known.contains { $0.id == entry.number && $0.uid == entry.uid } }
    guard !copied.collections.isEmpty else { return }
    try declare(copied, changing: nil)
  }

  /// Deletes invalid roots, roots with unknown numbers, and pages without a root.
  ///
  /// - Returns: Whether it deleted any rows.
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

  /// Decrypts all index pages and verifies their sums.
  package func indexProblems() throws(StoreError) -> [Verdict.IndexProblem] {
    guard hasIndexes else { return [] }
    let tables = IndexTables(database)
    // If another program dropped the tables, only indexes are lost.
    guard try tables.exist() else { return [] }
    var problems: [Verdict.IndexProblem] = []
    if try tables.containsStrayRows(than: IndexPart.all) {
      problems.append(Verdict.IndexProblem("pages of no index are there"))
    }
    for row in try tables.roots() {
      do throws(StoreError) {
        let root = try IndexRoot(part: row.part, epoch: row.epoch, sealed: row.sealed, keys)
        _ = try IndexDeclaration(root.declaration)
        if let problem = try IndexPages.problem(of: root, database, keys) { throw problem }
      } catch {
        guard !error.isTransient else { throw error }
        problems.append(Verdict.IndexProblem(error.message))
      }
    }
    return problems
  }
}
