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
    ) { transaction throws(StoreError) in try StoreIndexes(transaction).problems() }
    // Damaged documents can't be compared, and an index never matches other documents.
    guard depth == .full, verdict.damaged.isEmpty, verdict.problems.isEmpty, verdict.setMatches, verdict.countMatches,
      verdict.indexProblems.isEmpty
    else { return verdict }
    let documents = verdict.documents
    let finishing = progress.map { progress -> ProgressHandler in
      { _ in try progress(WorkProgress(done: documents, total: documents, phase: .finishing)) }
    }
    do throws(StoreError) {
      verdict.indexProblems = try checkIndexes(finishing).problems
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
  ///
  /// - Parameter countsFields: Whether to count the values of the fields if they have changed.
  /// - Returns: The counted fields.
  @discardableResult
  package func changeIndexes(
    of collection: DocumentCollection, _ progress: ProgressHandler?, countingFields countsFields: Bool,
    _ change: (inout IndexDeclaration.Collection) throws(StoreError) -> Void
  ) throws(StoreError) -> [IndexedField] {
    try writing { transaction throws(StoreError) in
      let indexes = StoreIndexes(transaction)
      let hasNewFields = try indexes.change(of: collection, progress, change)
      // An error undoes the declaration.
      let fields = hasNewFields && countsFields ? try indexes.fields(of: collection) : []
      try transaction.commit()
      return fields
    }
  }

  /// Updates outdated indexes and rebuilds damaged indexes, or rebuilds all indexes if `rebuildsAll` is `true`.
  package func updateIndexes(_ progress: ProgressHandler?, rebuildsAll: Bool = false) throws(StoreError) -> Bool {
    let (hasWritten, hasRemovedIndexes) = try writing { transaction throws(StoreError) in
      let indexes = StoreIndexes(transaction)
      let step = try Self.step(progress, total: transaction.state.count)
      let hasRemovedIndexes = try indexes.removeStray()
      var hasWritten = hasRemovedIndexes
      for part in IndexPart.all {
        guard let root = try indexes.root(part)?.root else { continue }
        let problem =
          rebuildsAll ? nil : try indexes.problem(of: root)
        if let problem { log.warning("\(problem.message); it is made again") }
        if rebuildsAll || problem != nil {
          var new = root
          try new.restart()
          try indexes.rebuild(new, step)
          hasWritten = true
        } else if try indexes.write(part, progress: step) {
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

  /// Releases the pages in memory that readers share, after a change of the keys that the pages in the file had.
  package func releaseSharedIndexPages() {
    let memory = session.companion(IndexMemory.self)
    for part in IndexPart.all { memory[part] = nil }
  }

  /// Counts the values of a collection's indexed fields, after adding missing documents in memory.
  package func indexedFields(of collection: DocumentCollection) throws(StoreError) -> [IndexedField] {
    try reading { transaction throws(StoreError) in try StoreIndexes(transaction).fields(of: collection) }
  }

  /// Compares all indexes with the documents, after adding missing documents in memory.
  ///
  /// - Returns: The differences, and the numbers of values and NULLs of each collection's fields.
  package func checkIndexes(
    _ progress: ProgressHandler?
  ) throws(StoreError) -> (problems: [Verdict.IndexProblem], fields: [(collection: String, field: IndexedField)]) {
    try reading { transaction throws(StoreError) in
      let indexes = StoreIndexes(transaction)
      let step = try Self.step(progress, total: transaction.state.count, "checking was stopped")
      var problems = try indexes.problems()
      var fields: [(collection: String, field: IndexedField)] = []
      guard problems.isEmpty else { return (problems, fields) }
      for part in IndexPart.all {
        do throws(StoreError) {
          guard let opened = try indexes.reopen(part) else { continue }
          let file = try indexes.update(opened)
          try file.watching(transaction) { () throws(StoreError) in
            var check = IndexCheck(transaction, file, step)
            try check.run()
            problems += check.problems
            fields += check.fields
          }
        } catch {
          transaction.connection.openIndexes.close(part)
          guard error.isIndexDamage else { throw error }
          problems.append(Verdict.IndexProblem(error.message))
        }
      }
      return (problems, fields)
    }
  }

  fileprivate static func step(
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

extension StoreIndexes {
  /// Changes a collection's index declaration and builds new indexes in this transaction.
  ///
  /// - Returns: Whether the declared fields have changed.
  package func change(
    of collection: DocumentCollection, _ progress: ProgressHandler?,
    _ change: (inout IndexDeclaration.Collection) throws(StoreError) -> Void
  ) throws(StoreError) -> Bool {
    let record = try transaction.requireCollection(collection)
    var declaration = try declaration()
    // Remove entries for deleted collections.
    let known = try transaction.collections()
    declaration.collections.removeAll { entry in !known.contains { $0.id == entry.number && $0.uid == entry.uid } }
    let before = declaration
    try declaration.change(record, change)
    guard declaration.bytes != before.bytes else { return false }
    let step = try StoreEngine.step(progress, total: transaction.state.count)
    try declare(declaration, changing: record.id, step)
    return declaration.collection(record.id)?.fields != before.collection(record.id)?.fields
  }

  /// Counts the values of a collection's indexed fields, after adding missing documents in memory.
  package func fields(of collection: DocumentCollection) throws(StoreError) -> [IndexedField] {
    try fields(of: try transaction.requireCollection(collection).id)
  }
}
