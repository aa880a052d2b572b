internal import CofferRecords
internal import CofferSealing
internal import FoundationEssentials

#if canImport(Glibc)
  internal import Glibc
#endif

/// A file that is written beside its place under another name, and takes its own when it is whole.
///
/// Whoever makes it discards it when that fails; a killed process leaves the other name.
struct StagedFile {
  let path: String
  /// Whether a file that stands at `path` may be replaced.
  let replacesExisting: Bool
  /// What is read meanwhile, and must not be replaced.
  let source: String?
  /// `.NAME.<16 hex digits>.new` in the same folder.
  let temporary: String

  init(_ path: String, replacesExisting: Bool = false, source: String? = nil) throws(StoreError) {
    self.path = path
    self.replacesExisting = replacesExisting
    self.source = source
    let mark = try sealing { () throws(SealingError) in try RandomBytes().draw(8) }
    let url = URL(filePath: path)
    temporary =
      url.deletingLastPathComponent().appending(path: ".\(url.lastPathComponent).\(Hexadecimal.text(mark)).new").path
  }

  /// Refuses a place where something stands that may not be replaced, or what would be read as part of the new file.
  ///
  /// SQLite would undo a journal that an older database left there into the new one.
  func checkPlace() throws(StoreError) {
    var status = stat()
    if lstat(path, &status) == 0 {
      guard replacesExisting, status.st_mode & S_IFMT == S_IFREG else {
        throw StoreError(.alreadyExists, "\(path): something stands there already; it was left as it is")
      }
      var read = stat()
      if let source, stat(source, &read) == 0, read.st_dev == status.st_dev, read.st_ino == status.st_ino {
        throw StoreError(.alreadyExists, "\(path) is what is being read: an output never goes over an input")
      }
    }
    for suffix in ["-journal", "-wal"] where lstat(path + suffix, &status) == 0 {
      throw StoreError(
        .alreadyExists, "\(path)\(suffix) belongs to another store: a new one would be read with it",
        hint: "close and open that store once, or remove the file if the store is gone")
    }
  }

  /// Makes the file, empty, for its owner alone.
  func make() throws(StoreError) {
    let descriptor = open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.failure(path) }
    // Nobody else has this file open, so closing it drops no locks.
    close(descriptor)
  }

  /// Gives the finished file its name, unless something took it meanwhile, and makes the name durable.
  ///
  /// - Throws: also `ioFailure` when the disk does not confirm the name, which the file has then all the same.
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
    // Never replaces what somebody made meanwhile.
    if AtomicRename.withoutReplacing(temporary, as: path) { return }
    // Where the file system can't do that: a link, unlike a rename, replaces nothing either.
    if link(temporary, path) == 0 {
      unlink(temporary)
      return
    }
    if errno == EEXIST { try checkPlace() }
    // A file system without hard links: take the name with an empty file, then put the finished one in its place.
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

  func discard() {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(temporary + suffix) }
  }

  /// What the last call of the system said.
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
