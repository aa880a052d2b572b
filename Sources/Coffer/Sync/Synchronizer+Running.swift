internal import CofferEngine
internal import CofferRecords

extension Synchronizer {
  /// Runs a synchronization, and rolls it back if it's a dry run.
  static func run(
    in transaction: StoreTransaction, _ collection: DocumentCollection, _ options: SyncOptions,
    _ work: (Synchronizer) throws -> Void
  ) throws -> SyncReport {
    let rows = try transaction.writer
    func run() throws -> SyncReport {
      let record = try transaction.collectionEditor.openOrCreate(
        collection, titleRule: options.titleRule ?? .asGiven, foldsKeys: options.foldsKeys)
      let synchronizer = try Synchronizer(transaction, record, options)
      try work(synchronizer)
      try synchronizer.finish()
      return synchronizer.report
    }
    guard options.isDryRun else {
      do {
        return try run()
      } catch {
        rows.fail(error)
        throw error
      }
    }
    var report = SyncReport()
    do {
      try transaction.savepoint {
        report = try run()
        throw DryRunFinished()
      }
    } catch is DryRunFinished {}
    return report
  }

  private struct DryRunFinished: Error {}
}
