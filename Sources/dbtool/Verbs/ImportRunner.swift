internal import Coffer
internal import CofferEngine
internal import CofferFormats
internal import CofferPlatform

/// Runs one import from its inputs into a store, or a dry run.
struct ImportRunner {
  private let verb: ImportVerb
  private let rejects: RejectsFile?

  init(_ verb: ImportVerb, _ rejects: RejectsFile?) {
    self.verb = verb
    self.rejects = rejects
  }

  private func makeQueue(_ count: CountingSource.Count) -> ImportQueue {
    let diagnostics = verb.options.common.diagnostics
    let rejects = rejects
    return ImportQueue(paths: verb.inputs) { path in
      let source = try verb.reading.open(
        path, count: count, isRejecting: rejects != nil, isSync: verb.conflicts.sync,
        isUpdate: verb.conflicts.onConflict == .update, namesCollections: verb.collection == nil
      ) { rejection in
        diagnostics.finding("rejected: \(rejection.error)")
        rejects?.add(rejection)
      }
      rejects?.format = source.format
      return source
    }
  }

  /// - Parameter isKeptOnFailure: Whether a failure keeps the store with the documents of earlier batches.
  func store(in store: DocumentStore, isKeptOnFailure: Bool) throws -> ImportOutcome {
    let count = CountingSource.Count()
    let queue = makeQueue(count)
    let size = totalSize
    let bar = Progress(
      "import", unit: "document", style: verb.progress.progress, isQuiet: verb.options.common.quiet)
    defer { bar.finish() }
    var outcome = ImportOutcome()
    var before: [String] = []
    func advance(_ done: Int) throws {
      try Interrupt.check()
      bar.update(done, fraction: size.map { min(1, Double(count.value) / Double(max($0, 1))) })
    }
    do {
      try Interrupt.deferring(inSteps: verb.portions.batch != nil) {
        if verb.conflicts.sync {
          outcome.add(try synchronize(store, with: queue, &before, advance))
          return
        }
        var isFirst = true
        while try queue.beginPortion(of: verb.dryRun ? .max : verb.portions.batch ?? .max) || isFirst {
          let ids = IDCollector()
          var bulk = bulkOptions
          bulk.onInsert = { ids.add($0) }
          let stored = outcome.stored
          bulk.progress = { try advance(stored + $0.done) }
          var report = BulkReport()
          do {
            try store.write { writer in
              if isFirst {
                // Decide once, in the writing transaction, because later portions can find collections of earlier portions.
                let there = try writer.collectionNames().map(\.name)
                before = there
                if verb.collection == nil { queue.defaultCollection = { try Collections.target(among: there) } }
                isFirst = false
              }
              report = try writer.insert(
                contentsOf: queue, into: verb.collection.map { DocumentCollection($0) }, options: bulk)
              // Keep the input's ID counter, so IDs of deleted documents are never reused.
              if verb.reading.more.keepIds, let id = queue.highestID { try writer.reserveIDs(through: DocumentID(id)) }
              try rejects?.flush()
              // Roll back the whole transaction to leave the file unchanged.
              if verb.dryRun { throw DryRunRollback() }
            }
          } catch is DryRunRollback {}
          outcome.add(report, ids: ids.ranges)
          if isKeptOnFailure { rejects?.hasStored = true }
        }
        try setParents(&outcome, in: store)
      }
    } catch {
      var failure = Failure(error)
      if let error = error as? StoreError { failure = failure.namingEarlierRecord(error, in: store) }
      if (error as? StoreError)?.code == .duplicateKey, bulkOptions.onConflict == .fail {
        failure = Failure(
          failure.status, kind: failure.kind, failure.message,
          hint: "--on-conflict update changes such documents, --on-conflict skip leaves them")
      }
      failure = failure.naming(queue.reports)
      if isKeptOnFailure { try? setParents(&outcome, in: store) }
      throw isKeptOnFailure ? failure.mentioning(stored: outcome.stored) : failure
    }
    outcome.inputs = queue.reports
    outcome.collections = queue.collections
    outcome.collectionsBefore = before
    outcome.newCollections = try store.read { try $0.collectionNames().map(\.name) }
      .filter { !before.containsExactly($0) }
    return outcome
  }

  /// Sets parents that were imported in a later batch than their children.
  private func setParents(_ outcome: inout ImportOutcome, in store: DocumentStore) throws {
    let parents = outcome.missingParents
    guard !parents.isEmpty, !verb.dryRun else { return }
    outcome.parentsDropped = try store.write { try $0.setMissingParents(parents) }
  }

  private var bulkOptions: BulkOptions {
    var bulk = BulkOptions()
    bulk.keepsIDs = verb.reading.more.keepIds
    bulk.titleRule = .derived
    bulk.onConflict = verb.conflicts.onConflict?.mode ?? .fail
    return bulk
  }

  private func synchronize(
    _ store: DocumentStore, with queue: ImportQueue, _ before: inout [String], _ advance: @escaping (Int) throws -> Void
  ) throws -> SyncReport {
    var options = SyncOptions(stale: verb.conflicts.stale)
    options.keepsIDs = verb.reading.more.keepIds
    options.titleRule = .derived
    // Records that the store refuses were already read, so the rejects file can't contain them.
    options.skipsInvalid = rejects == nil && verb.reading.skipsErrors(isRejecting: false)
    options.progress = { try advance($0.done) }
    options.isSourceWhole = { queue.reports.allSatisfy { $0.reading.rejected + $0.reading.skippedEmpty == 0 } }
    var report = SyncReport()
    do {
      try store.write { writer in
        before = try writer.collectionNames().map(\.name)
        _ = try queue.beginPortion(of: .max)
        let collection = try Collections.target(verb.collection ?? queue.firstCollection, in: writer)
        queue.onlyCollection = verb.collection == nil ? collection : nil
        queue.collections = [Array(collection.utf8)]
        report = try writer.synchronize(DocumentCollection(collection), with: queue, options: options)
        if verb.reading.more.keepIds, let id = queue.highestID { try writer.reserveIDs(through: DocumentID(id)) }
        try rejects?.flush()
        if verb.dryRun { throw DryRunRollback() }
      }
    } catch is DryRunRollback {
    } catch let error as StoreError where error.code == .invalidArgument || error.code == .duplicateKey {
      // The error is in an input record rather than in the command line.
      throw Failure(.undecodable, kind: "invalid-record", error.message)
    }
    let inputs = queue.reports
    for invalid in report.invalid {
      verb.options.common.diagnostics.finding(
        "rejected: \(inputs.words(forRecord: invalid.record)): \(invalid.reason)")
    }
    return report
  }

  private struct DryRunRollback: Error {}

  /// The total size of the inputs in bytes, or `nil` if an input's size is unknown.
  private var totalSize: Int? {
    verb.inputs.reduce(0) { total, input in
      guard let total, let size = InputFile.size(of: input) else { return nil }
      return total + size
    }
  }
}

extension Failure {
  /// Returns the failure with the record's input, if its message begins with a record number of an import.
  fileprivate func naming(_ inputs: [ImportQueue.InputReport]) -> Failure {
    let prefix = "record "
    let digits = message.dropFirst(prefix.count).prefix { $0 != ":" }
    guard message.hasPrefix(prefix), let number = Int(digits) else { return self }
    let rest = message.dropFirst(prefix.count + digits.count)
    return Failure(status, kind: kind, inputs.words(forRecord: number) + rest, hint: hint)
  }

  /// Returns the failure with another reason if a record conflicts with a document of the same transaction, which is
  /// undone. The user can't find that document.
  fileprivate func namingEarlierRecord(_ error: StoreError, in store: DocumentStore) -> Failure {
    guard error.code == .duplicateKey || error.code == .alreadyExists, let other = error.documentID,
      message.hasPrefix("record "), let end = message.firstIndex(of: ":"),
      (try? store.read { try $0.exists(other) }) == false
    else { return self }
    let what = error.code == .duplicateKey ? "key" : "id"
    return Failure(status, kind: kind, "\(message[..<end]): an earlier record of the input has the same \(what)")
  }

  /// Returns the failure with the number of documents that earlier transactions stored.
  func mentioning(stored count: Int) -> Failure {
    guard count > 0 else { return self }
    return Failure(
      status, kind: kind, "\(message); \(counted(count, "document")) of earlier batches stored", hint: hint)
  }
}
