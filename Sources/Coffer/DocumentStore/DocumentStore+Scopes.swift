internal import CofferEngine
internal import CofferRecords
internal import CofferSearch

extension DocumentStore {
  /// Reads in one transaction, so the closure reads the store as of one moment.
  ///
  /// In rollback journal mode, commits wait until the closure returns. Other threads can read concurrently.
  ///
  /// - Returns: The result of the closure.
  /// - Throws: Errors of the closure, `locked`, `keyChanged`, `rolledBack`, `damaged`, `closed`, or `misuse` inside
  ///   `write` in rollback journal mode.
  @discardableResult
  public func read<T>(_ body: (inout ReadTransaction) throws -> T) throws -> T {
    defer { engine.updateOutdatedIndexes() }
    let read = try engine.beginReading()
    var reader = ReadTransaction(read.transaction)
    return try body(&reader)
  }

  /// Writes in one transaction, which is committed when the closure returns and rolled back if it throws.
  ///
  /// A closure that doesn't write leaves the file unchanged. Other threads and processes wait for their turn to write.
  ///
  /// - Returns: The result of the closure, after its changes are on disk.
  /// - Throws: Errors of the closure, `locked`, `readOnly`, `diskFull`, `keyChanged`, `rolledBack`, `damaged`,
  ///   `closed`, or `misuse` inside `write`, and in rollback journal mode also inside `read`. No changes are stored
  ///   then. `ioFailure` if the disk doesn't confirm the commit, which may or may not be stored.
  @discardableResult
  public func write<T>(_ body: (inout WriteTransaction) throws -> T) throws -> T {
    let write = try engine.beginWriting()
    var writer = WriteTransaction(write.transaction)
    let result = try body(&writer)
    try write.commit()
    return result
  }
}
