internal import CofferRecords
internal import CofferSQLite

extension DocumentStore {
  /// Replaces the store's root key at once, then seals every document under a new epoch in batches.
  ///
  /// Other processes and threads read and write meanwhile; their writes already use the new keys. A kill at any point
  /// loses at most one batch of work: the store opens with the new key from the first commit on, and a rekey with
  /// `isResuming` continues. FORMAT, "Changing keys".
  ///
  /// - Parameters:
  ///   - replacements: new keys that replace the slot that opened; none keeps the same secrets, which are asked for
  ///     again and open the store as before. After a leak, give a new key.
  ///   - options: the secrets and recipients that stay, the size of a batch, another title mode.
  ///   - progress: called before the first and after every commit; if it throws, the rekey stops between batches, and
  ///     the store stays consistent.
  ///   - onKeys: called before the first write with the slots whose secrets stay, and after the key change with the pin
  ///     of the end, too; if it throws, the rekey stops.
  /// - Returns: the number of documents that were sealed again, those that could not be, and the pins.
  /// - Throws: before the first write `keyNeeded`, listing the slots whose secret is missing and the recipients that
  ///   are neither kept nor dropped, or `alreadyExists` for a new key that a slot has; `readOnly`; `cancelled`.
  @discardableResult
  public func rekey(
    to replacements: [NewKey] = [], options: RekeyOptions = RekeyOptions(), progress: ProgressHandler? = nil,
    onKeys: ((RekeyKeys) throws -> Void)? = nil
  ) throws(StoreError) -> RekeyReport {
    try engine.rekey(to: replacements, options: options, progress: progress, onKeys: onKeys)
  }

  /// `rekey` for async code.
  ///
  /// Cancelled before the key change, it has changed nothing; later, the store opens with its new keys and a resumed
  /// rekey goes on.
  @discardableResult
  public func rekey(
    to replacements: [NewKey] = [], options: RekeyOptions = RekeyOptions(),
    progress: (@Sendable (WorkProgress) throws -> Void)? = nil,
    onKeys: (@Sendable (RekeyKeys) throws -> Void)? = nil
  ) async throws -> RekeyReport {
    try await offCooperativePool {
      try self.rekey(to: replacements, options: options, progress: progress, onKeys: onKeys)
    }
  }

  /// Whether documents remain under old keys, and how many. Counts them with a scan of the table, and opens none.
  ///
  /// - Throws: `damaged`, `rolledBack`, `locked`, `keyChanged`, `closed`.
  public func rekeyStatus() throws(StoreError) -> RekeyStatus {
    try engine.rekeyStatus()
  }
}
