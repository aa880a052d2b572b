internal import CofferEngine
public import CofferFoundation

// `open`, `read`, `write` and `close` have asynchronous forms. `perform` runs every other call.

extension DocumentStore {
  /// Opens or creates a store on a separate thread.
  ///
  /// Canceling the task doesn't interrupt a scrypt derivation. The store may already have been created, or reset as
  /// requested.
  ///
  /// - Throws: The synchronous form's errors, or `CancellationError`.
  public static func open(
    at url: URL, key: StoreKey, creatingIfMissing: Bool = false, startingAfresh: Bool = false,
    options: OpenOptions = OpenOptions()
  ) async throws -> DocumentStore {
    try await offCooperativePool(.openings) {
      try open(
        at: url, key: key, creatingIfMissing: creatingIfMissing, startingAfresh: startingAfresh, options: options)
    }
  }

  /// Reads in one transaction on a separate thread, so waiting for a lock doesn't block other tasks.
  ///
  /// While all readers are busy (``OpenOptions/maximumReaders``), the task waits without a thread.
  ///
  /// The closure runs outside the task, as in all asynchronous forms, so `Task.isCancelled` is `false` in it, and
  /// task-local values have their defaults. Pass it all values it needs.
  ///
  /// - Throws: The synchronous form's errors. `CancellationError` if the task is canceled, at the scope's next call,
  ///   between rows or while waiting.
  @discardableResult
  public func read<T: Sendable>(_ body: @escaping @Sendable (inout ReadTransaction) throws -> T) async throws -> T {
    try await engine.withReaderTurn { try self.engine.readScope(body, turn: $0) }
  }

  /// Writes in one transaction on a separate thread. Canceling the task before the commit leaves the store unchanged.
  ///
  /// While this process has other writers, the task waits for its turn without a thread.
  ///
  /// - Throws: The synchronous form's errors, or `CancellationError`.
  @discardableResult
  public func write<T: Sendable>(_ body: @escaping @Sendable (inout WriteTransaction) throws -> T) async throws -> T {
    try await engine.withWriterTurn { try self.write(body, turn: $0) }
  }

  /// Closes the store on a separate thread, even if the task is canceled.
  ///
  /// When it returns, the keys are erased and texts can no longer be read.
  ///
  /// - Throws: The synchronous form's errors.
  public func close() async throws {
    try await Task.detached { try await offCooperativePool { try self.close() } }.value
  }

  /// Runs calls on a separate thread, so they don't block other tasks.
  ///
  /// ```swift
  /// let verdict = try await store.perform { try $0.verify() }
  /// ```
  ///
  /// Canceling the task stops the calls at their next row, batch or wait for a lock. The store is then the same as
  /// after an error. Each call takes one thread until it ends. A process uses up to 64 threads for such calls, and
  /// further calls wait without a thread.
  ///
  /// ```swift
  /// try await store.perform(writing: true) { try $0.keys.remove(slot: 2) }
  /// ```
  ///
  /// - Parameters:
  ///   - writing: A Boolean value that indicates whether the calls write, and therefore wait for other writers. Such
  ///     calls run one after another on one thread for each file, and waiting calls don't use a thread. Without
  ///     `writing`, a call that waits for a writer keeps one of the 64 threads, so many of them delay calls that only
  ///     read.
  ///   - work: The calls.
  /// - Returns: The result of the closure.
  /// - Throws: The closure's errors, or `CancellationError`. `closed` or `suspended` if calls that write would wait for
  ///   their turn in a store that is closed or suspended.
  @discardableResult
  public func perform<T: Sendable>(
    writing: Bool = false, _ work: @escaping @Sendable (DocumentStore) throws -> T
  ) async throws -> T {
    guard writing else { return try await offCooperativePool(.calls) { try work(self) } }
    return try await offCooperativePool(engine.writingCalls, owner: engine.session) { try work(self) }
  }

  /// Runs calls that don't need an open store on a separate thread.
  ///
  /// ```swift
  /// try await DocumentStore.perform { try $0.restore(at: url, from: backup, replacing: true) }
  /// ```
  ///
  /// - Returns: The result of the closure.
  /// - Throws: The closure's errors, or `CancellationError`.
  @discardableResult
  public static func perform<T: Sendable>(
    _ work: @escaping @Sendable (DocumentStore.Type) throws -> T
  ) async throws -> T {
    try await offCooperativePool(.calls) { try work(DocumentStore.self) }
  }
}
