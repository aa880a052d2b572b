internal import CofferRecords

extension DocumentStore {
  /// Reads in one transaction: the closure sees the store as of one moment.
  ///
  /// In rollback journal mode a commit waits until it returns.
  ///
  /// - Throws: errors of the closure; `locked`, `keyChanged`, `rolledBack`, `damaged`.
  @discardableResult
  public func read<T>(_ body: (inout StoreReader) throws -> T) throws -> T {
    try engine.read { transaction in
      var reader = StoreReader(transaction)
      return try body(&reader)
    }
  }

  /// Writes in one transaction: committed when the closure returns, undone if it throws.
  ///
  /// A closure that wrote nothing leaves the file unchanged.
  ///
  /// - Throws: errors of the closure; `locked`, `readOnly`, `diskFull`, `keyChanged`, `misuse`.
  @discardableResult
  public func write<T>(_ body: (inout StoreWriter) throws -> T) throws -> T {
    try engine.write { transaction in
      var writer = StoreWriter(transaction)
      return try body(&writer)
    }
  }

  /// ``read(_:)`` for async code: runs on a separate thread, so that waiting for a lock blocks no other task.
  ///
  /// A cancelled task throws `CancellationError` at its next call of the scope, between rows, or while it waits.
  @discardableResult
  public func read<T: Sendable>(_ body: @escaping @Sendable (inout StoreReader) throws -> T) async throws -> T {
    try await offCooperativePool { try self.read(body) }
  }

  /// ``write(_:)`` for async code. If cancelled before its commit, it has written nothing.
  @discardableResult
  public func write<T: Sendable>(_ body: @escaping @Sendable (inout StoreWriter) throws -> T) async throws -> T {
    try await offCooperativePool { try self.write(body) }
  }
}
