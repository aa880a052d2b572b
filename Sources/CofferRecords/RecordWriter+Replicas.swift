internal import CofferSQLite
internal import CofferSealing

extension RecordWriter {
  /// The dot of this transaction's commit.
  package var dot: Dot { Dot(replica: replicas.own, counter: revision + state.lead) }

  /// Returns the dot of this transaction's commit before its first write.
  package func upcomingDot() throws(StoreError) -> Dot {
    if isRestored { try willWrite() }
    return dot
  }

  /// Replaces the replicas' row, which also clears its mark of a restored file.
  ///
  /// - Throws: `tooLarge`.
  func setReplicas(_ new: Replicas) throws(StoreError) {
    try willWrite()
    precondition(
      new.entries.allSatisfy { $0.rose <= revision }, "internal error: a counter rose in a later generation")
    let sealed = try new.seal(under: keys.session.root)
    guard new.extensionBytes.count <= ExtensionPart.Owner.replicas.limit,
      sealed.sealed.count <= StoreFormat.maximumSealedReplicas
    else {
      throw StoreError(.tooLarge, "the store has too many replicas, or its memory of the sync folder is too large")
    }
    try changing { () throws(StoreError) in
      try database.execute(SQL.updateReplicas, sealed.sealed)
      guard database.connection.lastRowsAffected == 1 else { throw .damagedStore("its replicas are gone") }
      state.replicasDigest = sealed.digest
      takeReplicas(new, digest: sealed.digest)
    }
  }

  /// Raises this transaction's counter above another counter.
  ///
  /// - Throws: `noNumberLeft` if there isn't a higher counter, because a state with a higher counter couldn't be read.
  package func raiseCounter(above counter: UInt64) throws(StoreError) {
    guard revision + state.lead <= counter else { return }
    guard counter < UInt64(StoreFormat.maximumGeneration) else {
      throw StoreError(
        .noNumberLeft, "the stores have reached the last counter, so they can't be merged any more",
        hint: "export one of them into a new store")
    }
    state.lead = counter + 1 - revision
  }
}
