internal import CofferRecords

extension StoreTransaction {
  /// The changes since an earlier state, as this transaction found the store; proved by the seal of its state.
  ///
  /// The ring of the state names them exactly if it reaches back that far. If it does not, one walk over all rows sums
  /// the set, and finds what changed by the generations in the heads. The walk can't name deleted documents: if there
  /// are any, or if the store merged with its original since, it gives "everything".
  ///
  /// - Throws: `damaged` if the rows are not those that were written.
  func changes(since earlier: StoreState) throws(StoreError) -> ChangesSince {
    guard try mayDescend(from: earlier) else { return ChangesSince(sum: .everything) }
    if let changes = ringChanges(since: earlier) { return ChangesSince(changes) }
    // Documents that a merge brought have the original's stamps, which a walk takes for older ones.
    guard start.origin == earlier.origin else { return ChangesSince(sum: .everything) }
    return ChangesSince(sum: try changesInRows(since: earlier))
  }

  /// The same, if the ring names them; nil otherwise.
  func changesInRing(since earlier: StoreState) throws(StoreError) -> ChangesSince? {
    guard let changes = ringChanges(since: earlier), try mayDescend(from: earlier) else { return nil }
    return ChangesSince(changes)
  }

  func ringChanges(since earlier: StoreState) -> [RingChanges]? {
    guard let changes = start.ring.changes(after: earlier.generation)?.map(\.changes), !changes.contains(.everything)
    else { return nil }
    return changes
  }

  /// False if the ring shows that another state of that generation preceded this one: the file was replaced by a copy
  /// that went another way.
  func mayDescend(from earlier: StoreState) throws(StoreError) -> Bool {
    guard let mark = start.ring.mark(of: earlier.generation) else { return true }
    return try connection.mark(of: earlier).starts(with: mark)
  }

  private func changesInRows(since earlier: StoreState) throws(StoreError) -> RingChanges {
    var log = ChangeLog(hasListeners: true)
    var inserted: UInt64 = 0
    let sum = try sumOfRows { row, opener throws(StoreError) in
      guard row.fields.revision > earlier.generation else { return }
      let stamps = try opener.openHead(row).stamps
      if stamps.born > earlier.generation {
        inserted += 1
        return log.insert(row.fields)
      }
      // No generation tells of a change of dates alone.
      var parts: ChangeLog.Kind = .dates
      if stamps.edited > earlier.generation { parts.formUnion([.text, .head]) }
      if stamps.placed > earlier.generation { parts.formUnion([.place, .parent]) }
      log.replace(row.fields, with: row.fields, as: parts)
    }
    guard isWhole(sum) else {
      throw .damagedStore("its documents are not those that were written")
    }
    // Fewer documents than there would be without a deletion.
    return earlier.count &+ inserted == state.count ? log.changes : .everything
  }
}
