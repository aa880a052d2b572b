internal import CofferRecords
internal import CofferSQLite

#if canImport(Glibc)
  internal import Glibc
#endif

/// A store's file that is read and never changed, in any folder, even if its last writer was killed.
///
/// SQLite would undo a killed writer's journal in the file itself, and makes files beside a store with a write-ahead log.
/// - A file that a process has open now is read with that process's journal or log, as any reader does.
/// - A file in WAL mode without a log is read as immutable.
/// - A file with a journal or log that no process has open is read through a private copy of both, which stays sealed.
final class OriginalFile: Sendable {
  /// The file to read: the original's, or that of the private copy.
  let path: String
  let mode: Database.Mode
  /// The original's place, also if a private copy is read.
  let place: FilePlace
  private let copy: SealedCopy?
  /// The original's mark before anything was read.
  private let mark: FileMark

  /// - Throws: `noSuchFile`, `notAStore`, `ioFailure`, `diskFull`.
  init(at path: String) throws(StoreError) {
    place = try FilePlace(of: path)
    let original = place.path
    mark = try FileMark(original)
    let isInUse = ProcessLocks.isOpen(original) || FileMark.isLocked(original)
    let hasLog = FileMark.hasContent(original + "-wal")
    let hasJournal = FileMark.hasContent(original + "-journal")
    if !isInUse, hasLog || hasJournal {
      let copy = try SealedCopy(of: original)
      self.copy = copy
      self.path = copy.path
      mode = .readWrite
    } else {
      copy = nil
      self.path = original
      mode = isInUse || !FileMark.isWriteAhead(original) ? .readOnly : .immutable
    }
  }

  /// Call after reading: whether the file is still as it was when it was opened.
  ///
  /// - Throws: `locked` if a process has written to it meanwhile, without the lock that SQLite would have respected.
  func requireUnchanged() throws(StoreError) {
    guard mode != .readOnly else { return }
    guard try FileMark(place.path) == mark else {
      throw StoreError(
        .locked, "\(place.path): another process wrote to the store while it was read", hint: "try again")
    }
  }
}

/// Identity, length and time of a file: another one after a write.
struct FileMark: Equatable {
  private let device: UInt64
  private let file: UInt64
  private let size: Int64
  private let seconds: Int
  private let nanoseconds: Int

  init(_ path: String) throws(StoreError) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw StagedFile.failure(path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.notAStore, "\(path): not a regular file, and so no store")
    }
    (device, file, size) = (UInt64(status.st_dev), UInt64(status.st_ino), Int64(status.st_size))
    (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
  }

  /// Whether both are the same file, perhaps under two names.
  func isSameFile(as other: FileMark) -> Bool { device == other.device && file == other.file }

  static func hasContent(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_size > 0
  }

  /// Byte 18 of SQLite's header is 2.
  static func isWriteAhead(_ path: String) -> Bool {
    reading(path) { descriptor in
      var byte: UInt8 = 0
      return pread(descriptor, &byte, 1, 18) == 1 && byte == 2
    }
  }

  /// Whether any connection holds one of SQLite's locks: on the file itself, or on the index of its log.
  static func isLocked(_ path: String) -> Bool {
    reading(path) { FileLease.isLocked($0) } || reading(path + "-shm") { FileLease.isLocked($0, logIndexBytes) }
  }

  /// The bytes of the locks in the index of a log.
  private static let logIndexBytes: (start: off_t, count: off_t) = (120, 9)

  /// Call only for a file that this process does not have open: closing any descriptor of it would drop SQLite's locks.
  private static func reading(_ path: String, _ body: (Int32) -> Bool) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return body(descriptor)
  }
}

/// A sealed copy of a store and the journal or log beside it, in a new directory that only this user may enter.
///
/// A killed process leaves it there; it holds nothing that the original doesn't hold.
final class SealedCopy: Sendable {
  let path: String
  private let directory: String

  init(of original: String) throws(StoreError) {
    let folder = TemporaryFolder.path
    // The form that mkdtemp fills in.
    var name = Array((folder + "/coffer-" + String(repeating: "X", count: 6)).utf8CString)
    guard mkdtemp(&name) != nil else { throw StagedFile.failure(folder) }
    directory = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    path = directory + "/copy"
    do throws(StoreError) {
      for suffix in ["", "-journal", "-wal"] { try Self.copy(original + suffix, to: path + suffix) }
    } catch {
      Self.remove(path, directory)
      throw error
    }
  }

  deinit {
    Self.remove(path, directory)
  }

  private static func remove(_ path: String, _ directory: String) {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) }
    rmdir(directory)
  }

  /// A missing source is no error: it has no such neighbour.
  private static func copy(_ source: String, to target: String) throws(StoreError) {
    let input = open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard input >= 0 else {
      guard errno != ENOENT else { return }
      throw StagedFile.failure(source)
    }
    defer { close(input) }
    var status = stat()
    guard fstat(input, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.unsafeFile, "\(source) is no regular file", hint: "replace it by the original file")
    }
    let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw StagedFile.failure(target) }
    defer { close(output) }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      try Cancellation.checkCurrent()
      let count = read(input, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw StagedFile.failure(source) }
      guard count > 0 else { return }
      var written = 0
      while written < count {
        let more = buffer.withUnsafeBytes { write(output, $0.baseAddress! + written, count - written) }
        if more < 0, errno == EINTR { continue }
        guard more > 0 else { throw StagedFile.failure(target) }
        written += more
      }
    }
  }
}
