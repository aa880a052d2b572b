internal import CofferSQLite
internal import Dispatch

extension DocumentStore {
  /// Reads in one transaction: everything the closure sees is of one moment.
  ///
  /// In the rollback journal a commit waits until it returns.
  ///
  /// - Throws: what the closure throws; `locked`, `keyChanged`, `rolledBack`, `damaged`.
  @discardableResult
  public func read<T>(_ body: (inout Reader) throws -> T) throws -> T {
    let result: Result<T, any Error> = try reading { transaction throws(StoreError) in
      var reader = Reader(transaction: transaction)
      return Result { try body(&reader) }
    }
    return try result.get()
  }

  /// Writes in one transaction: committed when the closure returns, undone when it throws.
  ///
  /// A closure that wrote nothing leaves the file as it was.
  ///
  /// - Throws: what the closure throws; `locked`, `readOnly`, `diskFull`, `keyChanged`, `misuse`.
  @discardableResult
  public func write<T>(_ body: (inout Writer) throws -> T) throws -> T {
    let result: Result<T, any Error> = try writing { transaction throws(StoreError) in
      let result: Result<T, any Error> = Result {
        var writer = Writer(transaction: transaction)
        return try body(&writer)
      }
      if case .success = result { try transaction.commit() }
      return result
    }
    return try result.get()
  }

  /// One write transaction; rolled back unless `body` commits it.
  func writing<R>(_ body: (StoreTransaction) throws(StoreError) -> R) throws(StoreError) -> R {
    guard !isReadOnly else { throw StoreError(.readOnly, "the store was opened to be read only") }
    return try followingKeyChanges { () throws(StoreError) in
      try connections.withWriter { connection throws(StoreError) in
        let transaction = try StoreTransaction(connection, .immediate, logger: log)
        defer { transaction.rollback() }
        return try body(transaction)
      }
    }
  }

  /// One read transaction.
  func reading<R>(_ body: (StoreTransaction) throws(StoreError) -> R) throws(StoreError) -> R {
    try followingKeyChanges { () throws(StoreError) in
      try connections.withReader { connection throws(StoreError) in
        let transaction = try StoreTransaction(connection, .deferred, logger: log)
        defer { transaction.rollback() }
        return try body(transaction)
      }
    }
  }

  /// ``read(_:)`` for async code: runs on a thread of its own, so that waiting for a lock holds up no other task.
  @discardableResult
  public func read<T: Sendable>(_ body: @escaping @Sendable (inout Reader) throws -> T) async throws -> T {
    try await offCooperativePool { try self.read(body) }
  }

  /// ``write(_:)`` for async code.
  @discardableResult
  public func write<T: Sendable>(_ body: @escaping @Sendable (inout Writer) throws -> T) async throws -> T {
    try await offCooperativePool { try self.write(body) }
  }

  func offCooperativePool<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(with: Result { try body() })
      }
    }
  }
}
