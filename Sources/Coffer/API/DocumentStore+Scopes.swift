internal import CofferRecords

extension DocumentStore {
  /// Reads in one transaction: the closure sees the store as of one moment.
  ///
  /// In rollback journal mode a commit waits until it returns. Reads on other threads run beside it.
  ///
  /// - Returns: the result of the closure.
  /// - Throws: errors of the closure; `locked`, `keyChanged`, `rolledBack`, `damaged`, `closed`; `misuse` inside
  ///   `write` of this store in rollback journal mode.
  @discardableResult
  public func read<T>(_ body: (inout StoreReader) throws -> T) throws -> T {
    try engine.read { transaction in
      var reader = StoreReader(transaction)
      return try body(&reader)
    }
  }

  /// Writes in one transaction: committed when the closure returns, undone if it throws.
  ///
  /// A closure that wrote nothing leaves the file unchanged. Other threads and processes that want to write wait their
  /// turn.
  ///
  /// - Returns: the result of the closure, once its changes are on the disk.
  /// - Throws: errors of the closure; `locked`, `readOnly`, `diskFull`, `keyChanged`, `rolledBack`, `damaged`,
  ///   `closed`; `misuse` inside `write`, and in rollback journal mode also inside `read`. Nothing is stored then.
  ///   `ioFailure` if the disk does not confirm the commit, which may be stored or not.
  @discardableResult
  public func write<T>(_ body: (inout StoreWriter) throws -> T) throws -> T {
    try engine.write { transaction in
      var writer = StoreWriter(transaction)
      return try body(&writer)
    }
  }

  /// `read` for async code: runs on a separate thread, so that waiting for a lock blocks no other task.
  ///
  /// A cancelled task throws `CancellationError` at its next call of the scope, between rows, or while it waits.
  @discardableResult
  public func read<T: Sendable>(_ body: @escaping @Sendable (inout StoreReader) throws -> T) async throws -> T {
    try await offCooperativePool { try self.read(body) }
  }

  /// `write` for async code. If cancelled before its commit, it has written nothing.
  @discardableResult
  public func write<T: Sendable>(_ body: @escaping @Sendable (inout StoreWriter) throws -> T) async throws -> T {
    try await offCooperativePool { try self.write(body) }
  }
}
