internal import CofferFoundation
internal import CofferPlatform
internal import CofferRecords

/// A file with a temporary name in the target's folder, which is renamed when it's complete.
///
/// After a failure, the caller must discard the file. A killed process leaves the temporary file on disk, and the next
/// staged file in that folder removes it.
package final class StagedFile {
  package let path: String
  /// Whether an existing file at `path` may be replaced.
  let replacesExisting: Bool
  /// The path of a simultaneously read file, which must not be replaced.
  let source: String?
  private let folder: String
  /// The temporary file, from ``make()`` until it's renamed or discarded.
  private var entry: TemporaryEntry?

  /// Removes the temporary files that killed processes have left in the folder.
  package init(_ path: String, replacesExisting: Bool = false, source: String? = nil) {
    self.path = path
    self.replacesExisting = replacesExisting
    self.source = source
    folder = Self.folder(of: path)
    TemporaryEntry.removeAbandoned(in: folder)
  }

  /// Returns the path of a file's folder.
  package static func folder(of path: String) -> String { URL(filePath: path).deletingLastPathComponent().path }

  /// The path of the file until it's renamed. Call ``make()`` first.
  package var temporary: String { made.path }

  private var made: TemporaryEntry {
    guard let entry else { preconditionFailure("internal error: a staged file wasn't made") }
    return entry
  }

  /// Verifies that `path` can be used, and that SQLite won't find a journal or log there.
  ///
  /// SQLite would apply an older database's journal to the new file.
  ///
  /// - Throws: `locked` if this process has the file to replace open.
  package func checkTarget() throws(StoreError) {
    try checkName()
    try checkSideFiles()
  }

  /// Verifies that `path` is free, or that the existing file is a store that may be replaced.
  ///
  /// - Throws: `locked` if this process has the file to replace open, or `invalidArgument` for `:memory:`.
  package func checkName() throws(StoreError) {
    try FileLocation.requireFile(path)
    if try isReplacing() { try requireStore() }
  }

  private func checkSideFiles() throws(StoreError) {
    var status = stat()
    for suffix in ["-journal", "-wal"] where lstat(path + suffix, &status) == 0 {
      throw StoreError(
        .alreadyExists, "\(path)\(suffix) belongs to another store: a new one would be read with it",
        hint: "close and open that store once, or remove the file if the store is gone")
    }
  }

  /// Returns whether `path` is an existing file that may be replaced.
  @discardableResult
  private func isReplacing() throws(StoreError) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return false }
    guard replacesExisting, status.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.alreadyExists, "\(path) exists already, and was left as it is")
    }
    var read = stat()
    if let source, stat(source, &read) == 0, read.isSameFile(as: status) {
      throw StoreError(.alreadyExists, "\(path) is what is being read: an output never goes over an input")
    }
    return true
  }

  /// Verifies that the file to replace is a store, even a damaged one.
  ///
  /// - Throws: `alreadyExists` if the file isn't a store, or `locked` if this process has it open.
  private func requireStore() throws(StoreError) {
    guard try isStore() else {
      throw StoreError(
        .alreadyExists, "\(path) is no store, and was left as it is", hint: "move it away, and try again")
    }
  }

  /// Verifies that `path` is free, or that the existing file may be replaced and isn't a store.
  ///
  /// - Throws: `alreadyExists`, or `locked` if this process has the existing file open.
  package func checkIsNoStore() throws(StoreError) {
    if try isReplacing(), try isStore() {
      throw StoreError(.alreadyExists, "\(path) is a store, and was left as it is", hint: "name another file")
    }
  }

  /// Returns whether the existing file is a store, even a damaged one, or `true` if it has just been removed.
  private func isStore() throws(StoreError) -> Bool {
    // Closing the file below would release the process's locks on it.
    try FileLease.requireClosedInThisProcess(path)
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      guard errno == ENOENT else { throw Self.failure(path) }
      return true
    }
    defer { OpenFiles.closeWhenLast(file) }
    var header = [UInt8](repeating: 0, count: 72)
    let count = pread(file, &header, header.count, 0)
    let application = header[68..<72].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
    return count == header.count && header.starts(with: Array("SQLite format 3\0".utf8))
      && application == StoreFormat.applicationID
  }

  /// Durably deletes the replaced file's journal, log and `-shm` file, because SQLite would apply them to the new file.
  ///
  /// Call this method while the replaced file isn't open in any process.
  package func removeSQLiteFiles() throws(StoreError) {
    var hasRemoved = false
    for suffix in ["-journal", "-wal", "-shm"] {
      if unlink(path + suffix) == 0 {
        hasRemoved = true
      } else if errno != ENOENT {
        throw Self.failure(path + suffix)
      }
    }
    if hasRemoved { try Durability.confirmName(of: path) }
  }

  /// Creates an empty file that only its owner can read.
  package func make() throws(StoreError) {
    let name = TemporaryName.beside(URL(filePath: path).lastPathComponent)
    entry = TemporaryEntry(file: folder + "/" + name)
    guard entry != nil else { throw Self.failure(path) }
  }

  /// Appends bytes to the file.
  package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    guard FileBytes.writeAll(bytes, to: made.descriptor) else { throw Self.failure(path) }
  }

  /// Makes the appended bytes durable. Call this before ``publish()``.
  package func sync() throws(StoreError) {
    guard coffer_sync(made.descriptor) == 0 else { throw Self.failure(path) }
  }

  /// Lets other users read the file.
  func allowReading() throws(StoreError) {
    guard fchmod(made.descriptor, 0o644) == 0 else { throw Self.failure(path) }
  }

  /// Renames the finished file and makes the name durable, unless another file has taken the name.
  ///
  /// - Throws: `ioFailure` if the disk doesn't confirm the name, although the file already has that name.
  package func publish() throws(StoreError) {
    try isReplacing()
    try checkSideFiles()
    try takeName()
    entry?.release()
    entry = nil
    try Durability.confirmName(of: path)
  }

  /// Replaces an existing store with the finished file, and keeps the store in the same folder with its journal and
  /// log.
  ///
  /// The two files are exchanged, so the path always leads to a whole file, unless the file system can't exchange
  /// files. If the process is killed right before the exchange, the finished file has the kept store's name.
  ///
  /// - Returns: The kept store's path: `NAME.replaced`, or `NAME.replaced-2` and so on if that name is taken.
  package func publishKeepingReplaced() throws(StoreError) -> String {
    let kept = unusedKeptPath()
    try movingSideFiles(to: kept) { () throws(StoreError) in
      guard AtomicRename.withoutReplacing(temporary, as: kept) else { throw Self.failure(kept) }
      if AtomicRename.exchanging(kept, path) { return }
      // The file system can't exchange files, so the path briefly doesn't lead to a file.
      guard rename(kept, temporary) == 0, rename(path, kept) == 0 else { throw Self.failure(path) }
      guard rename(temporary, path) == 0 else {
        let failure = Self.failure(path)
        rename(kept, path)
        throw failure
      }
    }
    entry?.release()
    entry = nil
    try Durability.confirmName(of: path)
    return kept
  }

  private func unusedKeptPath() -> String {
    var (number, status) = (1, stat())
    while true {
      let kept = path + ".replaced" + (number == 1 ? "" : "-\(number)")
      guard ["", "-journal", "-wal"].contains(where: { lstat(kept + $0, &status) == 0 }) else { return kept }
      number += 1
    }
  }

  /// Renames a killed writer's journal and log to match the kept store, and then runs `exchange`. If this fails,
  /// restores the names. Deletes the `-shm` file, which SQLite rebuilds.
  private func movingSideFiles(
    to kept: String, _ exchange: () throws(StoreError) -> Void
  ) throws(StoreError) {
    var moved: [String] = []
    do throws(StoreError) {
      for suffix in ["-journal", "-wal"] {
        var status = stat()
        guard lstat(path + suffix, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
        guard rename(path + suffix, kept + suffix) == 0 else { throw Self.failure(path + suffix) }
        moved.append(suffix)
      }
      if !moved.isEmpty { try Durability.confirmName(of: path) }
      try removeSQLiteFiles()
      try exchange()
    } catch {
      for suffix in moved { rename(kept + suffix, path + suffix) }
      throw error
    }
  }

  private func takeName() throws(StoreError) {
    if replacesExisting {
      guard rename(temporary, path) == 0 else { throw Self.failure(path) }
      return
    }
    // Don't replace a file that appeared after the first check.
    guard AtomicRename.withoutReplacing(temporary, as: path) else {
      let (isTaken, failure) = (errno == EEXIST, Self.failure(path))
      if isTaken { try isReplacing() }
      throw failure
    }
  }

  /// Runs work on the file, and discards the file if the work fails.
  package func discardingOnError(_ work: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try work()
    } catch {
      discard()
      throw error
    }
  }

  /// Removes the temporary file. Has no effect before ``make()`` and after ``publish()``.
  func discard() {
    guard let entry else { return }
    for suffix in ["-journal", "-wal", "-shm", ""] { unlink(entry.path + suffix) }
    entry.release()
    self.entry = nil
  }

  /// Returns the error for errno after a failed system call.
  package static func failure(_ path: String) -> StoreError {
    let reason = String(cString: strerror(errno))
    switch errno {
    case ENOSPC, EDQUOT: return StoreError(.diskFull, "\(path): the disk is full", hint: "make room and try again")
    case EROFS, EACCES, EPERM: return StoreError(.readOnly, "\(path): \(reason)")
    case ENOENT, ENOTDIR: return StoreError(.ioFailure, "\(path): \(reason)", hint: "make its folder first")
    default: return StoreError(.ioFailure, "\(path): \(reason)")
    }
  }
}
