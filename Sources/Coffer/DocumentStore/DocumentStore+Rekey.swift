internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSync

extension DocumentStore {
  /// Replaces the store's root key immediately, then encrypts every document under a new epoch in batches.
  ///
  /// Other processes and threads can continue to read and write. Their writes already use the new keys. Killing the
  /// process loses at most one batch of work. The store opens with the new key after the first commit, and a rekey with
  /// `isResuming` continues the work (FORMAT, "Changing keys").
  ///
  /// - Parameters:
  ///   - keys: The keys whose slots replace the slot that opened the store. Without new keys and recipients, the same
  ///     secrets are asked for again and continue to open the store. After a leak, pass a new key.
  ///   - recipients: The new recipients, whose slots also replace the slot that opened the store. To keep a recipient's
  ///     slot, use ``RekeyOptions/keptRecipients``.
  ///   - options: The secrets and recipients to keep, the batch size, and a new title mode.
  ///   - progress: Called before the first commit and after every commit. Throwing from it stops the rekey between
  ///     batches, and the store remains consistent.
  /// - Returns: The number of re-encrypted documents, the skipped documents and attachments, and the pins.
  /// - Throws: Before the first write, `keyNeeded` with the slots whose secrets are missing and the recipients that
  ///   aren't kept or dropped, or `alreadyExists` for a new key that already has a slot. `readOnly` and `cancelled`.
  @discardableResult
  public func rekey(
    to keys: [StoreKey] = [], recipients: [Recipient] = [], options: RekeyOptions = RekeyOptions(),
    progress: ProgressHandler? = nil
  ) throws(StoreError) -> RekeyReport {
    try rekey(to: keys, recipients: recipients, options: options, progress: progress, onKeys: nil)
  }

  /// Replaces the store's root key, and reports the keys before and after the key change.
  ///
  /// - Parameter onKeys: Called with the slots that keep their secrets before the first write, and again with the final
  ///   pin after the key change. A resumed rekey calls it once, without slots. Throwing from it stops the rekey.
  package func rekey(
    to keys: [StoreKey] = [], recipients: [Recipient] = [], options: RekeyOptions, progress: ProgressHandler? = nil,
    onKeys: (([KeySlot], StorePin?) throws -> Void)?
  ) throws(StoreError) -> RekeyReport {
    let (keepsTitles, isSyncing) = try engine.reading { transaction throws(StoreError) in
      // Unless the title mode changes, a rekey continues even if the replica table is damaged.
      let isSyncing = options.titles == nil ? (try? transaction.isSyncing) ?? false : try transaction.isSyncing
      return (transaction.keys.session.titles != .none, isSyncing)
    }
    if isSyncing, let titles = options.titles { try Self.requireSameTitles(titles, keepsTitles) }
    defer { engine.releaseSharedIndexPages() }
    var report = try engine.rekey(to: keys, recipients, options: options, progress: progress, onKeys: onKeys) {
      () throws(StoreError) in
      _ = try engine.updateIndexes(nil, rebuildsAll: true)
    }
    report.isSyncing = isSyncing
    return report
  }

  /// Requires a syncing store to keep titles if its other devices do, and not to keep them otherwise.
  private static func requireSameTitles(_ titles: CreateOptions.Titles, _ keepsTitles: Bool) throws(StoreError) {
    guard keepsTitles != (titles != .none) else { return }
    throw StoreError(
      .invalidArgument, "all devices that sync by a folder keep titles, or none does",
      hint: "end the sync with \(.syncLeave) first")
  }

  /// Returns whether a rekey is unfinished, and how many documents remain under old keys.
  ///
  /// If a rekey is unfinished, scans the table to count these documents, and decrypts attachment rows. Doesn't decrypt
  /// documents.
  ///
  /// - Returns: The latest rekey's state. ``RekeyReport/documents``, ``RekeyReport/skipped``,
  ///   ``RekeyReport/skippedAttachments`` and ``RekeyReport/unchangedSlots`` are empty.
  /// - Throws: `damaged`, `rolledBack`, `locked`, `keyChanged` or `closed`.
  public func rekeyStatus() throws(StoreError) -> RekeyReport {
    try engine.rekeyStatus()
  }
}
