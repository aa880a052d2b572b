internal import CofferFoundation
internal import CofferPlatform
internal import CofferRecords
internal import CofferSealing

/// A file that is written under a temporary name in the target's folder and renamed when it's complete.
///
/// After a failure, the caller must discard the file. A killed process leaves the temporary file on disk.
package struct StagedFile {
  package let path: String
  /// Whether an existing file at `path` may be replaced.
  let replacesExisting: Bool
  /// A file that is read at the same time and must not be replaced.
  let source: String?
  /// `.NAME.<16 hex digits>.new` in the same folder.
  package let temporary: String

  package init(_ path: String, replacesExisting: Bool = false, source: String? = nil) throws(StoreError) {
    self.path = path
    self.replacesExisting = replacesExisting
    self.source = source
    let mark = try translatingErrors { () throws(SealingError) in try SystemRandom.bytes(8) }
    let url = URL(filePath: path)
    temporary =
      url.deletingLastPathComponent().appending(path: ".\(url.lastPathComponent).\(Hexadecimal.text(mark)).new").path
  }

  /// Verifies that `path` can be used, and that SQLite won't find a journal or log there.
  ///
  /// SQLite would apply an older database's journal to the new file.
  package func checkTarget() throws(StoreError) {
    try checkName()
    var status = stat()
    for suffix in ["-journal", "-wal"] where lstat(path + suffix, &status) == 0 {
      throw StoreError(
        .alreadyExists, "\(path)\(suffix) belongs to another store: a new one would be read with it",
        hint: "close and open that store once, or remove the file if the store is gone")
    }
  }

  /// Verifies that `path` is free, or that the existing file may be replaced.
  package func checkName() throws(StoreError) {
    var status = stat()
    if lstat(path, &status) == 0 {
      guard replacesExisting, status.st_mode & S_IFMT == S_IFREG else {
        throw StoreError(.alreadyExists, "\(path) exists already, and was left as it is")
      }
      var read = stat()
      if let source, stat(source, &read) == 0, read.st_dev == status.st_dev, read.st_ino == status.st_ino {
        throw StoreError(.alreadyExists, "\(path) is what is being read: an output never goes over an input")
      }
    }
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
    let descriptor = open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.failure(path) }
    // This doesn't drop any locks, because this process has no other connection to the file.
    close(descriptor)
  }

  /// Renames the finished file and makes the name durable, unless another file has taken the name.
  ///
  /// - Throws: `ioFailure` if the disk doesn't confirm the name, although the file already has that name.
  package func publish() throws(StoreError) {
    try checkTarget()
    try takeName()
    try Durability.confirmName(of: path)
  }

  private func takeName() throws(StoreError) {
    if replacesExisting {
      guard rename(temporary, path) == 0 else { throw Self.failure(path) }
      return
    }
    // Don't replace a file that was created in the meantime.
    if AtomicRename.withoutReplacing(temporary, as: path) { return }
    // If the file system can't do that, use a link, which never replaces a file.
    if link(temporary, path) == 0 {
      unlink(temporary)
      return
    }
    if errno == EEXIST { try checkTarget() }
    // Without hard links, reserve the name with an empty file and rename the finished file over it.
    let placeholder = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard placeholder >= 0 else {
      let failure = Self.failure(path)
      try checkTarget()
      throw failure
    }
    close(placeholder)
    guard rename(temporary, path) == 0 else {
      let failure = Self.failure(path)
      unlink(path)
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

  func discard() {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(temporary + suffix) }
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
