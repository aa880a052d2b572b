internal import CofferRecords

extension StoreTransaction {
  /// One synchronisation; a dry run is undone.
  func synchronizing(
    _ collection: DocumentCollection, _ options: SyncOptions, _ work: (Synchronizer) throws -> Void
  ) throws -> SyncReport {
    let rows = try writer
    func run() throws -> SyncReport {
      try rows.willWrite()
      let record = try openOrCreate(
        collection, titleRule: options.titleRule ?? .asGiven, foldsKeys: options.foldsKeys)
      let synchronizer = try Synchronizer(self, record, options)
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
      try savepoint {
        report = try run()
        throw DryRunEnds()
      }
    } catch is DryRunEnds {}
    return report
  }

  private struct DryRunEnds: Error {}
}
