internal import CofferRecords

extension StoreTransaction {
  /// Returns the changes from an earlier state to the state at the transaction's start, authenticated by its seal.
  ///
  /// The state's ring lists the changes exactly if it reaches back that far. Otherwise, a scan of all rows verifies the
  /// set hash and finds changes by the rows' revisions. The scan can't identify deleted documents, so the result is
  /// `everything` if there are any, or if documents came from another replica. The same is true of attachments, and of
  /// documents that may have moved from one collection to another.
  ///
  /// - Throws: `damaged` if the rows don't match the set hash.
  func changes(since earlier: StoreState) throws(StoreError) -> ChangesSince {
    guard try mayDescend(from: earlier) else { return ChangesSince(sum: .everything) }
    if let changes = ringChanges(since: earlier) { return ChangesSince(changes) }
    // A scan can't tell whether a merge inserted or changed a document.
    guard try !replicas.haveRisen(since: earlier.generation) else { return ChangesSince(sum: .everything) }
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
    // A moved document's row doesn't show which collection it left.
    let hasOneCollection = try storedCollections().count == 1
    var mayHaveLeft = false
    let own = try replicas.own
    func isNew(_ dot: Dot) -> Bool { dot.replica == own && dot.counter > earlier.counter }
    let sum = try sumOfRows { row, opener throws(StoreError) in
      guard row.fields.revision > earlier.generation else { return }
      let dots = DocumentDots(checked: try opener.openHead(row, acceptsNewer: true).dots)
      if isNew(dots.born) {
        inserted += 1
        return log.insert(row.fields)
      }
      // Dates don't have their own dot, so assume that they changed.
      var parts: ChangeLog.Kind = .dates
      if isNew(dots.text) { parts.insert(.text) }
      if ([dots.title, dots.key, dots.attributes] + dots.members.map(\.dot)).contains(where: isNew) {
        parts.insert(.head)
      }
      if isNew(dots.place) {
        parts.formUnion([.place, .parent])
        mayHaveLeft = !hasOneCollection
      }
      log.replace(row.fields, with: row.fields, as: parts)
    }
    guard isWhole(sum) else {
      throw .damagedStore("its documents are not those that were written")
    }
    if mayHaveLeft { return .everything }
    var attached: UInt64 = 0
    try forEachAttachmentRow { row throws(StoreError) in
      guard row.revision > earlier.generation else { return }
      let record = try AttachmentRecord(row, keys)
      guard let fields = try unverifiedFields(of: DocumentID(row.document)) else { return }
      if isNew(record.born) {
        attached += 1
        log.attach(row.number, to: fields)
      } else {
        log.renameAttachment(row.number, of: fields)
      }
    }
    // A lower count than expected means that documents or attachments were deleted.
    return earlier.count &+ inserted == state.count && earlier.attachmentCount &+ attached == state.attachmentCount
      ? log.changes : .everything
  }
}
