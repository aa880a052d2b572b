extension ModelStore {
  /// Returns all records and deletions that changed after a version vector.
  public func changes(since base: VersionVector) -> Changeset {
    Changeset(
      sender: replica,
      base: base,
      end: vector,
      documents: documents.filter { _, record in
        !base.covers(record.stamp) || !base.covers(allOf: record.attachments.values.flatMap(\.dots))
      },
      collections: collections.filter { !base.covers($0.value.stamp) },
      gone: gone.filter { !base.covers($0.value.stamp) },
      attachments: base.includes(vector) ? [:] : documents.mapValues(\.attachments),
      marks: marks)
  }

  /// Merges a changeset into the store.
  ///
  /// The store is unchanged if the method throws, or if the policy is `fail` and the report lists conflicts.
  @discardableResult
  public mutating func apply(
    _ changes: Changeset, policy: MergePolicy = .both
  ) throws(ModelError) -> Report {
    guard vector.includes(changes.base) else {
      throw .notYet
    }
    try checkForClones(changes)
    var merge = Merge(mine: self, theirs: changes, policy: policy)
    try merge.run()
    if policy != .fail || merge.report.conflicts.isEmpty {
      self = merge.result
    }
    return merge.report
  }

  /// Merges everything that another store has into this store.
  @discardableResult
  public mutating func merge(
    _ other: ModelStore, policy: MergePolicy = .both
  ) throws(ModelError) -> Report {
    try apply(other.changes(since: VersionVector()), policy: policy)
  }

  /// Forgets the deletions that every store is known to have.
  ///
  /// A store that was not counted and still has such a document brings it back. Nothing is lost.
  /// - Parameter vectors: The version vectors of all stores.
  public mutating func prune(knownBy vectors: [VersionVector]) {
    gone = gone.filter { _, entry in
      !vectors.allSatisfy { $0.covers(allOf: entry.deletions) && $0.covers(entry.stamp) }
    }
  }

  /// Throws an error if the changes come from a copy of this store, or from a copy of a replica known here.
  ///
  /// Only this store raises its own counter, and both sides must describe the same commits of every replica.
  private func checkForClones(_ changes: Changeset) throws(ModelError) {
    if changes.end[replica] > vector[replica] {
      throw .cloned(replica)
    }
    for (replica, theirs) in changes.marks {
      if let mine = marks[replica], !mine.agrees(with: theirs) {
        throw .cloned(replica)
      }
    }
  }
}
