internal import CofferRecords
public import FoundationEssentials

extension DocumentStore {
  /// Copies the store at `url`, as of one moment, into a separate file; needs no key.
  ///
  /// One read transaction: in WAL mode other connections continue to write, in rollback journal mode they wait. The
  /// copy is the same store with the same keys, in one file, with the permissions of the original; it is written beside
  /// `target`, checked like ``check(at:isQuick:wait:)``, made durable, and then renamed. The check reads the copy once
  /// more.
  ///
  /// - Parameters:
  ///   - url: the store's file.
  ///   - target: the copy's file; a file of that name must not exist unless `isReplacing`.
  ///   - isReplacing: replaces an existing file.
  ///   - allowsDamage: copies a store that the check finds damaged, too.
  ///   - wait: the longest time to wait for another process's lock; nil waits for ever.
  ///   - progress: called after each step with the numbers of copied pages and of all pages; if it throws, nothing is
  ///     left.
  /// - Throws: `damaged` if the store is; `alreadyExists`, also if `target` is the store itself or another store's
  ///   journal is beside it; `cancelled`, `diskFull`, `locked`, and errors of opening the store. Nothing is left then.
  ///   `ioFailure` if the disk does not confirm the copy; if that is about its name alone, the copy is in place.
  public static func backup(
    at url: URL, to target: URL, replacing isReplacing: Bool = false, allowingDamage allowsDamage: Bool = false,
    wait: Duration? = .seconds(10), progress: ProgressHandler? = nil
  ) throws(StoreError) {
    let file = try StagedFile(target.path, replacesExisting: isReplacing, source: url.path)
    try file.checkPlace()
    try stage(file, from: url, permissionsOf: url.path, allowsDamage: allowsDamage, wait, progress)
    try file.discardingOnError { () throws(StoreError) in try file.publish() }
  }

  /// Puts a copy of the store at `source`, a backup, in the place of the one at `url`; needs no key.
  ///
  /// The copy is checked as a backup is. Journal, log and `-shm` of the store that it replaces are deleted before it
  /// gets its name, since SQLite would apply them to it. While that happens no process can open the store: a write
  /// lease of the kernel (`fcntl(2)`) holds them up. If the power fails right then, the old store is left without its
  /// log.
  ///
  /// - Parameters:
  ///   - url: the place of the restored store.
  ///   - source: the backup's file, which is only read.
  ///   - isReplacing: replaces an existing store, and files that were left beside one; the store's permissions stay.
  ///   - wait: the longest time to wait for another process's lock; nil waits for ever.
  ///   - progress: called with the numbers of copied pages and of all pages; if it throws, the store is unchanged.
  /// - Throws: `alreadyExists` without `isReplacing`; `locked` if a process has the store open, which is seen where the
  ///   file is the caller's own and its file system knows leases, and in WAL mode elsewhere; `damaged` if `source` is;
  ///   `cancelled`, `diskFull`, and errors of opening `source`. The store is unchanged then. `ioFailure` as for a
  ///   backup.
  public static func restore(
    at url: URL, from source: URL, replacing isReplacing: Bool = false, wait: Duration? = .seconds(10),
    progress: ProgressHandler? = nil
  ) throws(StoreError) {
    // A rename over a symbolic link would replace the link.
    let place = isReplacing ? try? FilePlace(of: url.path) : nil
    let file = try StagedFile(place?.path ?? url.path, replacesExisting: isReplacing, source: source.path)
    try isReplacing ? file.checkName() : file.checkPlace()
    // Before the long copy, and again when the store is replaced.
    _ = try FileLease.taken(on: file.path)
    try stage(file, from: source, permissionsOf: place?.path ?? source.path, allowsDamage: false, wait, progress)
    try file.discardingOnError { () throws(StoreError) in
      let lease = try FileLease.taken(on: file.path)
      if isReplacing { try file.removeFilesBeside() }
      try file.publish()
      lease.end()
    }
  }

  /// Copies this store, as last committed, into a separate file, as
  /// `backup(at:to:replacing:allowingDamage:wait:progress:)` does.
  ///
  /// - Throws: the same errors, and `misuse` inside `write`.
  public func backup(
    to target: URL, replacing isReplacing: Bool = false, allowingDamage allowsDamage: Bool = false,
    progress: ProgressHandler? = nil
  ) throws(StoreError) {
    try engine.connections.requireOutsideOfWrite()
    try Self.backup(
      at: URL(filePath: engine.path), to: target, replacing: isReplacing, allowingDamage: allowsDamage,
      wait: engine.options.wait, progress: progress)
  }

  /// Writes a durable, checked copy of a store beside its place; leaves nothing if that fails.
  private static func stage(
    _ file: StagedFile, from source: URL, permissionsOf original: String, allowsDamage: Bool, _ wait: Duration?,
    _ progress: ProgressHandler?
  ) throws(StoreError) {
    try file.discardingOnError { () throws(StoreError) in
      try file.makeCopy(ofStoreAt: source.path, wait, progress)
      // The source is closed: its writers no longer wait.
      if !allowsDamage { try requireSound(file, from: source.path) }
      try WorkProgress(done: 1, total: 1, phase: .finishing).tell(progress, stopped: StagedFile.copyStopped)
      try file.finishCopy(permissions: StagedFile.permissions(of: original))
    }
  }

  /// Checks the copy, not the source: that may change meanwhile.
  private static func requireSound(_ file: StagedFile, from source: String) throws(StoreError) {
    let report = try check(at: URL(filePath: file.temporary), wait: nil)
    guard let first = report.problems.first else { return }
    throw StoreError(
      .damaged, "\(source) is damaged, so that nothing was copied: \(first)",
      hint: "\(.check) lists all that is damaged; keep older backups")
  }
}
