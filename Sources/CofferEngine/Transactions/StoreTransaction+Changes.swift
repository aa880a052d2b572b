internal import CofferRecords

extension StoreTransaction {
  /// Returns the changes from an earlier state to the state at the transaction's start, authenticated by its seal.
  ///
  /// The state's ring lists the changes exactly if it reaches back that far. Otherwise, a scan of all rows verifies the
  /// set hash and finds changes by the generations in the heads. The scan can't identify deleted documents, so the
  /// result is `everything` if there are any, or if the store has merged with its original.
  ///
  /// - Throws: `damaged` if the rows don't match the set hash.
  func changes(since earlier: StoreState) throws(StoreError) -> ChangesSince {
    guard try mayDescend(from: earlier) else { return ChangesSince(sum: .everything) }
    if let changes = ringChanges(since: earlier) { return ChangesSince(changes) }
    // Merged documents have the original's stamps, which a scan would mistake for older changes.
    guard start.origin == earlier.origin else { return ChangesSince(sum: .everything) }
    return ChangesSince(sum: try changesInRows(since: earlier))
  }

  /// Returns the changes since an earlier state, or `nil` if the ring doesn't list them.
  func changesInRing(since earlier: StoreState) throws(StoreError) -> ChangesSince? {
    guard let changes = ringChanges(since: earlier), try mayDescend(from: earlier) else { return nil }
    return ChangesSince(changes)
  }

  package func ringChanges(since earlier: StoreState) -> [RingChanges]? {
    guard let changes = start.ring.changes(after: earlier.generation)?.map(\.changes), !changes.contains(.everything)
    else { return nil }
    return changes
  }

  /// Returns `false` if the ring contains a different state of that generation, because a diverged copy replaced the
  /// file.
  package func mayDescend(from earlier: StoreState) throws(StoreError) -> Bool {
    guard let mark = start.ring.mark(of: earlier.generation) else { return true }
    return try connection.mark(of: earlier).starts(with: mark)
  }

  private func changesInRows(since earlier: StoreState) throws(StoreError) -> RingChanges {
    var log = ChangeLog(hasListeners: true)
    var inserted: UInt64 = 0
    let sum = try sumOfRows { row, opener throws(StoreError) in
      guard row.fields.revision > earlier.generation else { return }
      let stamps = try opener.openHead(row, acceptsNewer: true).stamps
      if stamps.born > earlier.generation {
        inserted += 1
        return log.insert(row.fields)
      }
      // Generations don't record date changes, so assume that the dates changed.
      var parts: ChangeLog.Kind = .dates
      if stamps.edited > earlier.generation { parts.formUnion([.text, .head]) }
      if stamps.placed > earlier.generation { parts.formUnion([.place, .parent]) }
      log.replace(row.fields, with: row.fields, as: parts)
    }
    guard isWhole(sum) else {
      throw .damagedStore("its documents are not those that were written")
    }
    // A lower count than expected means that documents were deleted.
    return earlier.count &+ inserted == state.count ? log.changes : .everything
  }
}
