internal import CofferRecords
internal import CofferSQLite
public import FoundationEssentials

#if canImport(Glibc)
  internal import Glibc
#endif

extension DocumentStore {
  /// Copies the store at `url`, as of one moment, into a separate file; needs no key.
  ///
  /// One read transaction: in WAL mode other connections continue to write, in rollback journal mode they wait. The
  /// copy is the same store with the same keys, in one file, with the permissions of the original; it is written beside
  /// `target`, made durable, and then renamed.
  ///
  /// - Parameters:
  ///   - isReplacing: replaces an existing file.
  ///   - progress: called after each step with the numbers of copied pages and of all pages; returns false to stop.
  /// - Throws: `alreadyExists`, also if `target` is the store itself or another store's journal is beside it;
  ///   `cancelled`, `diskFull`, `locked`, and errors of opening the store. Nothing is left then. `ioFailure` if the
  ///   disk does not confirm the copy; if that is about its name alone, the copy is in place.
  public static func backup(
    at url: URL, to target: URL, replacing isReplacing: Bool = false, wait: Duration? = .seconds(10),
    progress: ((_ copied: Int, _ total: Int) -> Bool)? = nil
  ) throws(StoreError) {
    let file = try StagedFile(target.path, replacesExisting: isReplacing, source: url.path)
    try file.checkPlace()
    try withFile(url, wait) { source throws(StoreError) in
      do throws(StoreError) {
        try file.make()
        try copy(source.database.connection, to: file.temporary, progress)
        try finish(file.temporary, like: url.path)
        try file.publish()
      } catch {
        file.discard()
        throw error
      }
    }
  }

  /// ``backup(at:to:replacing:wait:progress:)`` of this store, as last committed.
  ///
  /// - Throws: also `misuse` inside `write`.
  public func backup(
    to target: URL, replacing isReplacing: Bool = false,
    progress: ((_ copied: Int, _ total: Int) -> Bool)? = nil
  ) throws(StoreError) {
    try engine.connections.requireOutsideOfWrite()
    try Self.backup(
      at: URL(filePath: engine.path), to: target, replacing: isReplacing, wait: engine.options.wait, progress: progress)
  }

  private static func copy(
    _ source: Database, to path: String, _ progress: ((_ copied: Int, _ total: Int) -> Bool)?
  ) throws(StoreError) {
    do throws(SQLiteError) {
      let copy = try Database(path, mode: .readWrite)
      // A copy that fails before it is renamed is only thrown away.
      _ = try copy.textPragma("journal_mode = OFF")
      _ = try copy.textPragma("synchronous = OFF")
      try source.backup(to: copy) { remaining, total in progress?(total - remaining, total) ?? true }
      try copy.close()
    } catch {
      throw StoreError(error)
    }
  }

  private static func finish(_ path: String, like original: String) throws(StoreError) {
    var status = stat()
    let descriptor = Glibc.open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw StagedFile.failure(path) }
    defer { Glibc.close(descriptor) }
    if stat(original, &status) == 0 { fchmod(descriptor, status.st_mode & 0o777) }
    guard fsync(descriptor) == 0 else { throw StagedFile.failure(path) }
  }
}
