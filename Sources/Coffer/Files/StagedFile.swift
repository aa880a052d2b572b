internal import CofferRecords
internal import CofferSealing
internal import FoundationEssentials

#if canImport(Glibc)
  internal import Glibc
#endif

/// A file that is written beside its target path under another name, and renamed when complete.
///
/// After a failure, the caller that made it discards it; a killed process leaves the temporary file.
struct StagedFile {
  let path: String
  /// Whether an existing file at `path` may be replaced.
  let replacesExisting: Bool
  /// A file that is read meanwhile and must not be replaced.
  let source: String?
  /// `.NAME.<16 hex digits>.new` in the same folder.
  let temporary: String

  init(_ path: String, replacesExisting: Bool = false, source: String? = nil) throws(StoreError) {
    self.path = path
    self.replacesExisting = replacesExisting
    self.source = source
    let mark = try sealing { () throws(SealingError) in try SystemRandom.bytes(8) }
    let url = URL(filePath: path)
    temporary =
      url.deletingLastPathComponent().appending(path: ".\(url.lastPathComponent).\(Hexadecimal.text(mark)).new").path
  }

  /// Refuses an existing file that may not be replaced, and files that SQLite would read as part of the new one.
  ///
  /// SQLite would apply a journal left there by an older database to the new file.
  func checkPlace() throws(StoreError) {
    try checkName()
    var status = stat()
    for suffix in ["-journal", "-wal"] where lstat(path + suffix, &status) == 0 {
      throw StoreError(
        .alreadyExists, "\(path)\(suffix) belongs to another store: a new one would be read with it",
        hint: "close and open that store once, or remove the file if the store is gone")
    }
  }

  /// Refuses an existing file that may not be replaced.
  func checkName() throws(StoreError) {
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

  /// Deletes journal, log and `-shm` of the file that is replaced, durably: SQLite would apply them to the new one.
  ///
  /// Call while no process has that file open.
  func removeFilesBeside() throws(StoreError) {
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

  /// Creates the file, empty, readable by its owner only.
  func make() throws(StoreError) {
    let descriptor = open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.failure(path) }
    // No other connection of this process has this file open, so closing it drops no locks.
    close(descriptor)
  }

  /// Renames the finished file, unless another file took the name meanwhile, and makes the name durable.
  ///
  /// - Throws: also `ioFailure` if the disk does not confirm the name; the file has that name all the same.
  func publish() throws(StoreError) {
    try checkPlace()
    try takeName()
    try Durability.confirmName(of: path)
  }

  private func takeName() throws(StoreError) {
    if replacesExisting {
      guard rename(temporary, path) == 0 else { throw Self.failure(path) }
      return
    }
    // Never replaces a file that was created meanwhile.
    if AtomicRename.withoutReplacing(temporary, as: path) { return }
    // If the file system can't do that: a link, unlike a rename, replaces nothing either.
    if link(temporary, path) == 0 {
      unlink(temporary)
      return
    }
    if errno == EEXIST { try checkPlace() }
    // A file system without hard links: reserve the name with an empty file, then rename the finished file over it.
    let placeholder = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard placeholder >= 0 else {
      let failure = Self.failure(path)
      try checkPlace()
      throw failure
    }
    close(placeholder)
    guard rename(temporary, path) == 0 else {
      let failure = Self.failure(path)
      unlink(path)
      throw failure
    }
  }

  /// Runs work on the file, and discards it if that fails.
  func discardingOnError(_ work: () throws(StoreError) -> Void) throws(StoreError) {
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

  /// The error for errno after a failed system call.
  static func failure(_ path: String) -> StoreError {
    let reason = String(cString: strerror(errno))
    switch errno {
    case ENOSPC, EDQUOT: return StoreError(.diskFull, "\(path): the disk is full", hint: "make room and try again")
    case EROFS, EACCES, EPERM: return StoreError(.readOnly, "\(path): \(reason)")
    case ENOENT, ENOTDIR: return StoreError(.ioFailure, "\(path): \(reason)", hint: "make its folder first")
    default: return StoreError(.ioFailure, "\(path): \(reason)")
    }
  }
}
