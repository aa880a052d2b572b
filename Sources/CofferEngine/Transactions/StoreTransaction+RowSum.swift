internal import CofferRecords
internal import CofferSealing

// The sum of all rows, for comparing the file with its state.
extension StoreTransaction {
  /// The set hash and count of the file's rows.
  package struct RowSum {
    package var set = SetHash()
    package var count = 0
    /// The number of documents without a text in their row.
    package var bodiesBesideRecords = 0
    /// The number of deletions.
    package var deletionCount = 0
    /// The number of attachments.
    package var attachmentCount = 0
    package var damaged: [Verdict.Damage] = []
    package var problems: [String] = []
    /// Whether all rows could be summed, even damaged rows.
    package var isComplete = true
  }

  /// Sums the collections, the deletions and the attachments.
  ///
  /// - Throws: `damaged` for a row that's out of bounds or misplaced.
  package func sumWithoutDocuments() throws(StoreError) -> RowSum {
    var sum = RowSum()
    func add(_ element: SetElement) throws(StoreError) {
      try translatingErrors { () throws(SealingError) in try keys.summer.add(element, to: &sum.set) }
    }
    for row in try connection.collections.rows(within: limits) { try add(try row.element(keys)) }
    try DeletionWalk.forEach(database, within: limits) { row throws(StoreError) in
      try add(try row.element(keys))
      sum.deletionCount += 1
    }
    try forEachAttachmentRow { row throws(StoreError) in
      try add(try row.element(keys))
      sum.attachmentCount += 1
    }
    return sum
  }

  /// Returns whether a sum matches the state's set hash and count.
  package func isWhole(_ sum: RowSum) -> Bool {
    sum.isComplete && sum.set == state.set && UInt64(sum.count) == state.count
      && UInt64(sum.deletionCount) == state.deletionCount && UInt64(sum.attachmentCount) == state.attachmentCount
  }

  /// Throws `damaged` for the first damaged row, or `setMismatch` if the sum doesn't match the state.
  package func requireWhole(_ sum: RowSum) throws(StoreError) {
    if let damaged = sum.damaged.first {
      throw StoreError(.damaged, damaged.reason, hint: "\(.verify) lists all damage", documentID: damaged.id)
    }
    guard isWhole(sum) else { throw .setMismatch }
  }

  /// Requires the number of rows to match the state's count, so no row is missing from a list that reached its end.
  ///
  /// Reads the pages of an index, once for each version of the file and for each transaction. Later changes of the
  /// transaction update rows and count alike.
  ///
  /// - Throws: `setMismatch`.
  package func requireCount() throws(StoreError) {
    guard !isCounted else { return }
    let version = hasWritten ? nil : try connection.fileVersion()
    if version == nil || connection.countedVersion != version {
      guard let count = try documentCount(), UInt64(count) == state.count,
        try database.integer(SQL.unknownCollection) == nil
      else { throw .setMismatch }
    }
    connection.countedVersion = version
    isCounted = true
  }

  /// Walks all rows and verifies them against the state's set hash and count.
  ///
  /// - Throws: `damaged` if a row can't be decrypted, or `setMismatch`.
  package func requireWhole(_ visit: (RecordRow, RecordOpener) throws(StoreError) -> Void = { _, _ in })
    throws(StoreError)
  {
    try requireWhole(try sumOfRows(visit))
  }

  /// Sums all rows, and calls `visit` with each row in the sum. A `damaged` error is recorded in the sum.
  ///
  /// - Throws: Errors that aren't findings, such as `systemFailure`, `locked` or `cancelled`.
  package func sumOfRows(_ visit: (RecordRow, RecordOpener) throws(StoreError) -> Void = { _, _ in }) throws(StoreError)
    -> RowSum
  {
    var walk = RowWalk(self)
    try walk.run(visit)
    return walk.sum
  }
}
