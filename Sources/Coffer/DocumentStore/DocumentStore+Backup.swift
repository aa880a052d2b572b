internal import CofferEngine
public import CofferFoundation
internal import CofferRecords

extension DocumentStore {
  /// Copies a consistent state of the store at `url` to a single file. Doesn't need a key.
  ///
  /// The copy is the same store with the same keys and file permissions. Writers in WAL mode can continue during the
  /// copy. Writers in rollback journal mode wait. The copy is completed in the target's folder, checked like
  /// ``check(at:isQuick:wait:)``, made durable, and then renamed. The check reads the whole copy.
  ///
  /// - Parameters:
  ///   - url: The store's file.
  ///   - target: The copy's file, which must not exist unless `isReplacing` is `true`.
  ///   - isReplacing: Whether to replace an existing store.
  ///   - allowsDamage: Whether to copy a store even if the check finds damage.
  ///   - wait: The maximum time to wait for another process's lock, or `nil` to wait indefinitely.
  ///   - progress: Called after each step with the numbers of copied pages and total pages. If it throws, the
  ///     copy is removed.
  /// - Throws: `damaged` if the store's structure is damaged. The check doesn't open texts. `alreadyExists` if the
  ///   target exists, isn't a store, is the store itself, or has another store's journal next to it. `cancelled`,
  ///   `diskFull`, `locked`, and errors of opening the store. The copy is then removed. `ioFailure` if the disk doesn't
  ///   confirm the copy. If the disk only fails to confirm the name, the copy is in place.
  public static func backup(
    at url: URL, to target: URL, replacing isReplacing: Bool = false, allowingDamage allowsDamage: Bool = false,
    wait: Duration? = .seconds(10), progress: ProgressHandler? = nil
  ) throws(StoreError) {
    let file = StagedFile(target.path, replacesExisting: isReplacing, source: url.path)
    try file.checkTarget()
    try stage(file, from: url, permissionsOf: url.path, allowsDamage: allowsDamage, wait, progress)
    try file.discardingOnError { () throws(StoreError) in
      try Cancellation.storing { () throws(StoreError) in try file.publish() }
    }
  }

  /// Replaces the store at `url` with a copy of the backup at `source`. Doesn't need a key.
  ///
  /// The copy is checked like a backup, and then takes the store's place. The replaced store is kept next to it, with
  /// its journal or log, as `NAME.replaced`, or `NAME.replaced-2` and so on. To go back, restore that file. With its
  /// next change, the restored store gets a new identity, so it merges with the backup and the replaced store. During
  /// these steps, a kernel write lease (`fcntl(2)`) stops other processes from opening the store. If a killed writer
  /// left a journal or log, a power failure at this moment can leave the old store without it.
  ///
  /// - Parameters:
  ///   - url: The restored store's file.
  ///   - source: The backup's file, which is only read.
  ///   - isReplacing: Whether to replace an existing store and its leftover files. The store keeps its permissions.
  ///   - keepsReplaced: Whether to keep the replaced store. It's deleted otherwise.
  ///   - wait: The maximum time to wait for another process's lock, or `nil` to wait indefinitely.
  ///   - progress: Called with the numbers of copied pages and total pages. If it throws, the store is unchanged.
  /// - Returns: The kept store's file, or `nil` if the call didn't replace or keep a store.
  /// - Throws: `alreadyExists` unless `isReplacing` is `true`, and if the existing file isn't a store. `locked` if a
  ///   process has the store open. This is detected if you own the file and its file system supports leases, and
  ///   otherwise only in WAL mode. `damaged` if `source` is damaged. `cancelled`, `diskFull`, and errors of opening
  ///   `source`. The store is unchanged then. `ioFailure` in the same cases as for a backup.
  @discardableResult
  public static func restore(
    at url: URL, from source: URL, replacing isReplacing: Bool = false, keepingReplaced keepsReplaced: Bool = true,
    wait: Duration? = .seconds(10), progress: ProgressHandler? = nil
  ) throws(StoreError) -> URL? {
    // Renaming the copy to a symbolic link would replace the link.
    let place = isReplacing ? try? FileLocation(of: url.path) : nil
    let file = StagedFile(place?.path ?? url.path, replacesExisting: isReplacing, source: source.path)
    try isReplacing ? file.checkName() : file.checkTarget()
    // Check before the long copy, and again before replacing the store.
    _ = try FileLease.taken(on: file.path)
    try stage(
      file, from: source, permissionsOf: place?.path ?? source.path, allowsDamage: false, isRestored: true, wait,
      progress)
    var kept: String?
    try file.discardingOnError { () throws(StoreError) in
      let lease = try FileLease.taken(on: file.path)
      try Cancellation.storing { () throws(StoreError) in
        if place != nil, keepsReplaced {
          kept = try file.publishKeepingReplaced()
        } else {
          if isReplacing { try file.removeSQLiteFiles() }
          try file.publish()
        }
      }
      lease.end()
    }
    return kept.map { URL(filePath: $0) }
  }

  /// Copies this store's last committed state to a single file, like
  /// `backup(at:to:replacing:allowingDamage:wait:progress:)`.
  ///
  /// - Throws: The same errors, and `misuse` inside `read` or `write`.
  public func backup(
    to target: URL, replacing isReplacing: Bool = false, allowingDamage allowsDamage: Bool = false,
    progress: ProgressHandler? = nil
  ) throws(StoreError) {
    try engine.connections.requireOutsideScope()
    try engine.connections.during { () throws(StoreError) in
      try Self.backup(
        at: URL(filePath: engine.path), to: target, replacing: isReplacing, allowingDamage: allowsDamage,
        wait: engine.options.wait, progress: progress)
    }
  }

  /// Writes a durable, checked copy of a store to the target's folder. Removes the file after an error.
  private static func stage(
    _ file: StagedFile, from source: URL, permissionsOf original: String, allowsDamage: Bool, isRestored: Bool = false,
    _ wait: Duration?, _ progress: ProgressHandler?
  ) throws(StoreError) {
    try file.discardingOnError { () throws(StoreError) in
      do throws(StoreError) {
        try file.makeCopy(ofStoreAt: source.path, wait, progress)
      } catch {
        // A new store can't take the place of the source.
        throw error.code == .noSuchFile ? StoreError(.noSuchFile, error.message, hint: "check the path") : error
      }
      // The source is closed, so its writers don't wait for the check.
      if !allowsDamage { try requireSound(file, from: source.path) }
      if isRestored { try file.markRestored() }
      try WorkProgress(done: 1, total: 1, phase: .finishing).tell(progress, stopped: StagedFile.copyStopped)
      try file.finishCopy(permissions: StagedFile.permissions(of: original))
    }
  }

  /// Checks the copy rather than the source, because the source can change during the check.
  private static func requireSound(_ file: StagedFile, from source: String) throws(StoreError) {
    let report = try check(at: URL(filePath: file.temporary), wait: nil)
    guard let first = report.problems.first else { return }
    throw StoreError(
      .damaged, "\(source) is damaged, so that nothing was copied: \(first)",
      hint: "\(.check) lists all that is damaged; keep older backups")
  }
}
