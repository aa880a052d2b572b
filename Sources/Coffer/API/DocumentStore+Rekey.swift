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
  ///   - progress: called before the first and after every commit; if it throws, the rekey stops between batches, and
  ///     the store stays consistent.
  /// - Throws: before the first write `keyNeeded`, listing the slots whose secret is missing and the recipients that are
  ///   neither kept nor dropped, or `alreadyExists` for a new key that a slot has; `readOnly`; `cancelled`.
  @discardableResult
  public func rekey(
    to replacements: [NewKey] = [], options: RekeyOptions = RekeyOptions(),
    progress: (RekeyProgress) throws -> Void
  ) throws(StoreError) -> RekeyReport {
    try engine.rekey(to: replacements, options: options, progress: progress)
  }

  /// ``rekey(to:options:progress:)`` as a sequence of its progress; ends when the rekey has ended.
  ///
  /// Ending the iteration early stops the rekey between batches.
  public func rekey(to replacements: [NewKey] = [], options: RekeyOptions = RekeyOptions())
    -> AsyncThrowingStream<RekeyProgress, any Error>
  {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(16)) { continuation in
      let task = Task.detached {
        do {
          try await offCooperativePool {
            _ = try self.rekey(to: replacements, options: options) { step in
              if case .terminated = continuation.yield(step) { throw CancellationError() }
            }
          }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Whether documents remain under old keys. Counts them with a scan of the table.
  public func rekeyStatus() throws(StoreError) -> RekeyStatus {
    try engine.rekeyStatus()
  }
}
