package import CofferEngine
internal import CofferRecords

// Comparing an editable copy with its original.

extension StoreEngine {
  /// Compares the original with this copy's version of it, then replaces or merges the copy if `choice` requires it.
  package func follow(
    _ original: StoreEngine, onNewer choice: NewerOriginal, _ progress: ProgressHandler?
  ) throws -> OriginalCheck {
    try original.read { source in
      let isNewer = try reading { transaction throws(StoreError) in
        try includesLess(transaction, than: source, at: original.path)
      }
      guard isNewer else { return .unchanged }
      switch choice {
      case .keep: return .newer
      case .replace:
        try replaceEverything(from: source, progress)
        try original.connections.original?.requireUnchanged()
        return .replaced
      case .merge(let policy):
        let report = try merge(original, from: source, policy, MergeOptions(), progress)
        return report.isMerged ? .merged(report) : .conflicts(report)
      }
    }
  }

  /// Returns whether the original has changes that this copy doesn't include.
  ///
  /// - Throws: `invalidArgument` if the stores don't have a common origin. `rolledBack` if the copy includes later
  ///   changes than the original.
  private func includesLess(
    _ transaction: StoreTransaction, than source: StoreTransaction, at originalPath: String
  ) throws(StoreError) -> Bool {
    let replicas = try JointReplicas(transaction, source)
    let own = try source.replicas
    guard replicas.knownCounter(ofOwn: own) <= source.start.counter else {
      throw StoreError(
        .rolledBack, "\(originalPath) is older than the state that \(path) has from it",
        hint: "restore a newer copy of the original")
    }
    return !replicas.isUpToDate
  }

  /// Replaces this copy's contents with its original in one transaction, as a new replica, since its own changes are
  /// lost.
  private func replaceEverything(from source: StoreTransaction, _ progress: ProgressHandler?) throws {
    try write { transaction in
      try transaction.requireNoSyncFolder()
      let writer = try transaction.writer
      let replicas = try JointReplicas(transaction, source)
      let walk = try CopyWalk(source, .everything, .kept(replicas))
      let (next, bound) = (transaction.nextID, transaction.state.bound)
      try writer.deleteEverything()
      try writer.raiseCounter(above: replicas.greatestCounter)
      try writer.renewReplica(of: replicas.replaced)
      _ = try walk.write(into: transaction, from: source, progress)
      // Reserve the IDs of the user's documents, so they're never reused. The highest ID can be another copy's.
      try writer.reserveIDs(through: min(next, bound) - 1)
      try writer.reserveIDs(through: bound - 1)
    }
  }
}
