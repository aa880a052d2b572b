internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing
internal import Synchronization

/// An open store's knowledge of former attachments' chunks, which remain after a large or interrupted deletion.
enum ChunkSweep: UInt8, AtomicRepresentable {
  /// This process hasn't changed attachments yet.
  case notDue
  /// This process has changed attachments, and should look for such chunks.
  case due
  /// This process has found no more.
  case done
}

extension StoreEngine {
  /// The number of attachment numbers that a process checks after its first change. In a store with more numbers, it
  /// starts at a random number, so many short processes check all of them.
  private static let numbersToSweep: Int64 = 1 << 16

  /// Deletes chunks of former attachments in transactions of their own, if this process's commits left some, and after
  /// its first commit that changed attachments.
  ///
  /// What can't be deleted now, because another writer or too many readers are active or the disk fails, is left to a
  /// later writer.
  package func deleteLeftoverChunks() {
    guard session.chunkSweep.load(ordering: .relaxed) == .due, connections.canWriteImmediately,
      session.chunkSweep.exchange(.done, ordering: .relaxed) == .due
    else { return }
    // Cleared first, because a commit on another thread may leave more of them during the search.
    let leavesChunks = session.leavesChunks.exchange(false, ordering: .relaxed)
    do throws(StoreError) {
      let next = Int64(try reading(wait: .zero) { transaction throws(StoreError) in transaction.state.nextAttachment })
      let part = leavesChunks ? 0 : Int64.random(in: 0...next / Self.numbersToSweep)
      let start = part * Self.numbersToSweep
      let end = leavesChunks ? next : min(next, start + Self.numbersToSweep)
      try deleteLeftoverChunks(from: start, below: end, wait: .zero)
    } catch {
      if leavesChunks { session.leavesChunks.store(true, ordering: .relaxed) }
      session.chunkSweep.store(.due, ordering: .relaxed)
      log.debug("chunks of deleted attachments remain: \(error.message)")
    }
  }

  /// Deletes all chunks of former attachments.
  ///
  /// - Throws: Errors of transactions, and `setMismatch` if attachment rows are missing.
  package func deleteAllLeftoverChunks() throws(StoreError) {
    let next = Int64(try reading { transaction throws(StoreError) in transaction.state.nextAttachment })
    try deleteLeftoverChunks(from: 1, below: next, wait: nil)
  }

  private func deleteLeftoverChunks(from start: Int64, below end: Int64, wait: Duration?) throws(StoreError) {
    var next: Int64? = start
    while let number = next {
      next = try reading(wait: wait) { transaction throws(StoreError) in
        try transaction.firstFormerAttachment(from: number, below: end)
      }
      guard let first = next else { return }
      next = try writing(wait: wait) { transaction throws(StoreError) in
        // A row that a damaged tree hides needs its chunks.
        let expected = transaction.state.attachmentCount
        guard
          let count = try transaction.database.integer(SQL.count(of: .attachments), Int64(clamping: expected &+ 1)),
          UInt64(count) == expected
        else { throw .setMismatch }
        let writer = try transaction.writer
        var former = try transaction.firstFormerAttachment(from: first, below: end)
        while let number = former {
          try writer.deleteChunks(of: number)
          if writer.leavesChunks { break }
          former = try transaction.firstFormerAttachment(from: number + 1, below: end)
        }
        try transaction.commit()
        // Release the cache, because changed pages would otherwise accumulate over the deletion's transactions.
        try translatingErrors(transaction.database.connection.releaseCache)
        return former
      }
    }
  }
}

extension StoreTransaction {
  private static let numbersPerPage: Int64 = 1024

  /// Returns the lowest number of a former attachment that still has chunks, or `nil` if there are no such chunks.
  func firstFormerAttachment(from start: Int64, below end: Int64) throws(StoreError) -> Int64? {
    guard state.nextAttachment > 1 else { return nil }
    var next = start
    while next < end {
      try requireOpen()
      var numbers: [Int64] = []
      try database.forEachRow(SQL.attachmentNumbers, [next, end, Self.numbersPerPage]) { row in
        numbers.append(row.int64(at: 0))
        return true
      }
      let isLast = numbers.count < Self.numbersPerPage
      if isLast { numbers.append(end) }
      for number in numbers {
        if next < number, let chunk = try database.integer(SQL.firstChunkFrom, AttachmentChunks.row(of: 0, in: next)),
          case let found = AttachmentChunks.attachment(ofRow: chunk), found < number
        {
          return found
        }
        next = max(next, number + 1)
      }
    }
    return nil
  }
}
