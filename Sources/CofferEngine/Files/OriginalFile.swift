internal import CofferPlatform
internal import CofferRecords
internal import CofferSQLite

/// A store's file that is read without changing it, in any folder, even if its last writer was killed.
///
/// SQLite would apply a killed writer's journal to the file itself, and creates files next to a store in WAL mode.
/// - If a process has the file open, it's read with that process's journal or log, as by any reader.
/// - If the file is in WAL mode without a log, it's read as immutable.
/// - If the file has an unused journal or log, a private, encrypted copy of both is read.
package final class OriginalFile: Sendable {
  /// The path of the original, or of its private copy.
  let path: String
  let mode: Database.Mode
  /// The location of the original, even if a private copy is read.
  let place: FileLocation
  private let copy: SealedCopy?
  /// The original's mark before reading.
  private let mark: FileMark

  /// - Throws: `noSuchFile`, `notAStore`, `unsafeFile`, `ioFailure`, `diskFull`.
  init(at path: String) throws(StoreError) {
    place = try FileLocation(of: path)
    let original = place.path
    mark = try FileMark(original)
    // In a private copy, the files would belong to this user.
    try translatingErrors(at: original) { () throws(SQLiteError) in try Database.checkFiles(beside: original) }
    // A descriptor that `isLocked` closes would end the locks of this process.
    let isInUse = FileLease.isOpenInThisProcess(original) || FileMark.isLocked(original)
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
      // In WAL mode, a file in use has a log or its index next to it, unless it's only read as immutable. Reading it as
      // immutable would miss the log's contents.
      let hasLogOrIndex = hasLog || FileMark.hasContent(original + "-shm")
      mode = isInUse && hasLogOrIndex || !FileMark.isWriteAhead(original) ? .readOnly : .immutable
    }
  }

  /// Names the original in errors that name its private copy.
  static func naming<R>(_ original: OriginalFile?, _ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      guard let original, original.copy != nil else { throw error }
      throw StoreError(
        error.code, error.message.replacing(original.path, with: original.place.path), hint: error.advice,
        documentID: error.documentID)
    }
  }

  /// Verifies that the file hasn't changed since it was opened. Call this method after reading.
  ///
  /// - Throws: `locked` if a process wrote to the file without respecting SQLite's lock.
  package func requireUnchanged() throws(StoreError) {
    guard mode != .readOnly else { return }
    guard try FileMark(place.path) == mark else {
      throw StoreError(
        .locked, "\(place.path): another process wrote to the store while it was read", hint: "try again")
    }
  }
}

/// The identity, length and modification time of a file, which differ after a write.
package struct FileMark: Equatable {
  private let device: UInt64
  private let file: UInt64
  private let size: Int64
  private let seconds: Int
  private let nanoseconds: Int

  package init(_ path: String) throws(StoreError) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw StagedFile.failure(path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.notAStore, "\(path): not a regular file, and so no store")
    }
    (device, file, size) = (status.device, status.number, Int64(status.st_size))
    (seconds, nanoseconds) = (status.modified.tv_sec, status.modified.tv_nsec)
  }

  /// Returns whether both marks belong to the same file, possibly under two names.
  package func isSameFile(as other: FileMark) -> Bool { device == other.device && file == other.file }

  static func hasContent(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_size > 0
  }

  /// Returns whether the file is in WAL mode, which is the case if byte 18 of SQLite's header is 2.
  static func isWriteAhead(_ path: String) -> Bool {
    // SQLite opens the file, because closing another descriptor could end this process's locks.
    guard let start = try? Database(path, mode: .immutable).firstBytes(19), start.count == 19 else { return false }
    return start[18] == 2
  }

  /// Returns whether any connection holds one of SQLite's locks, either on the file or on the log's index.
  static func isLocked(_ path: String) -> Bool {
    reading(path) { RangeLock.isTaken(RangeLock.sqlite, of: $0) }
      || reading(path + "-shm") { RangeLock.isTaken(logIndexBytes, of: $0) }
  }

  /// The range of bytes that SQLite locks in a log's index.
  private static let logIndexBytes: (start: Int64, count: Int64) = (120, 9)

  /// Opens a file, and closes it when this process doesn't have it open, because closing it would drop SQLite's locks.
  private static func reading(_ path: String, _ body: (Int32) -> Bool) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    defer { OpenFiles.closeWhenLast(descriptor) }
    return body(descriptor)
  }
}

/// A sealed copy of a store and its journal or log, in a ``PrivateFolder``.
final class SealedCopy: Sendable {
  private let folder: PrivateFolder
  var path: String { folder.path(of: "copy") }

  init(of original: String) throws(StoreError) {
    folder = try PrivateFolder()
    for suffix in ["", "-journal", "-wal"] { try Self.copy(original + suffix, to: path + suffix) }
  }

  /// Copies a file, or returns without an error if the source doesn't exist.
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
      let count = buffer.withUnsafeMutableBytes { FileBytes.readSome(of: input, into: $0) }
      guard count >= 0 else { throw StagedFile.failure(source) }
      guard count > 0 else { return }
      let isWritten = buffer.withUnsafeBytes {
        FileBytes.writeAll(UnsafeRawBufferPointer(rebasing: $0[..<count]), to: output)
      }
      guard isWritten else { throw StagedFile.failure(target) }
    }
  }
}
