internal import CofferEngine
internal import CofferRecords
internal import CofferSearch

extension DocumentStore {
  /// Reads in one transaction, so all reads in the closure see the same state of the store.
  ///
  /// In rollback journal mode, commits wait until the closure returns. Other threads can read concurrently.
  ///
  /// If the closure uses an outdated index, the missing documents are added to the index in memory, in pages that all
  /// readers share. If the store is writable and no other writer is active, they're also written to the file after the
  /// closure, once reads have added 256 documents, and when the store is closed. If the index needs more memory than
  /// ``OpenOptions/indexMemoryBytes`` allows, it's updated in the file first, and the closure is called again.
  ///
  /// - Returns: The result of the closure.
  /// - Throws: Errors of the closure, `locked`, `keyChanged`, `rolledBack`, `damaged`, `closed`, or `misuse` inside
  ///   this store's `read` or `write`.
  @discardableResult
  public func read<T>(_ body: (inout ReadTransaction) throws -> T) throws -> T { try engine.readScope(body) }

  /// Writes in one transaction, which is committed when the closure returns and rolled back if it throws.
  ///
  /// A closure that doesn't write leaves the file unchanged. Other threads and processes wait for their turn to write.
  ///
  /// Indexes aren't updated in the transaction. A background thread updates them in the file from time to time.
  ///
  /// - Returns: The result of the closure, after its changes are on disk.
  /// - Throws: Errors of the closure, `locked`, `readOnly`, `diskFull`, `keyChanged`, `rolledBack`, `damaged`,
  ///   `closed`, or `misuse` inside this store's `read` or `write`. The store is then unchanged. `ioFailure` if the
  ///   disk doesn't confirm the commit, which may or may not be stored.
  @discardableResult
  public func write<T>(_ body: (inout WriteTransaction) throws -> T) throws -> T { try write(body, turn: nil) }

  func write<T>(_ body: (inout WriteTransaction) throws -> T, turn: FairTurn?) throws -> T {
    let result = try writeOnce(body, turn)
    engine.deleteLeftoverChunks()
    return result
  }

  private func writeOnce<T>(_ body: (inout WriteTransaction) throws -> T, _ turn: FairTurn?) throws -> T {
    let write = try engine.beginWriting(turn: turn)
    let stop = write.transaction.stop
    let result = try stop.naming {
      var writer = WriteTransaction(write.transaction)
      let result = try body(&writer)
      try write.transaction.commit()
      return result
    }
    write.finish()
    return result
  }
}

extension StoreEngine {
  /// Runs a closure in a read transaction. If the closure fails because an index is outdated, updates the index and
  /// calls the closure again.
  ///
  /// - Parameter turn: A turn of a reader that the caller has waited for.
  func readScope<T>(_ body: (inout ReadTransaction) throws -> T, turn: FairTurn? = nil) throws -> T {
    var turn = turn
    // Other readers may take the released memory first. Each repetition follows an update of the index in the file.
    for _ in 0..<64 {
      do {
        let result = try readOnce(body, turn)
        updateOutdatedIndexes(atLeast: IndexDebt.limit)
        return result
      } catch {
        guard try canRepeatRead(after: error) else { throw error }
        turn = nil
      }
    }
    return try readOnce(body)
  }

  private func readOnce<T>(
    _ body: (inout ReadTransaction) throws -> T, _ turn: FairTurn? = nil
  ) throws -> T {
    let read = try beginReading(turn: turn)
    let stop = read.transaction.stop
    return try stop.naming {
      var reader = ReadTransaction(read.transaction)
      return try body(&reader)
    }
  }
}
