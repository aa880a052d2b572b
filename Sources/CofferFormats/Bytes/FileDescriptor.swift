internal import CofferDocuments
internal import CofferPlatform

/// A file descriptor, closed with its last owner.
final class FileDescriptor: Sendable {
  let number: Int32
  private let isOwned: Bool

  init(owning number: Int32) {
    self.number = number
    isOwned = true
  }

  init(borrowing number: Int32) {
    self.number = number
    isOwned = false
  }

  deinit {
    if isOwned { close(number) }
  }

  /// Opens an existing file for reading.
  convenience init(opening path: String, flags: Int32 = 0) throws(FormatError) {
    let number = open(path, O_RDONLY | O_CLOEXEC | flags)
    guard number >= 0 else { throw .system(.unreadable, "cannot open the file", path: path) }
    self.init(owning: number)
  }

  /// Reads some bytes, 0 at the end; read(2), repeated after a signal.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int {
    let count = FileBytes.readSome(of: number, into: buffer)
    guard count >= 0 else { throw .system(.unreadable, "cannot read the file") }
    return count
  }

  /// Metadata; fstat(2).
  func status() throws(FormatError) -> stat {
    var status = stat()
    guard fstat(number, &status) == 0 else { throw .system(.unreadable, "cannot look at the file") }
    return status
  }

  /// Writes all bytes; write(2), repeated as needed.
  ///
  /// - Parameter shouldStop: Asked after each write(2) that a signal ended. Returns whether to throw `unwritable`.
  func write(_ bytes: UnsafeRawBufferPointer, unless shouldStop: (() -> Bool)? = nil) throws(FormatError) {
    guard FileBytes.writeAll(bytes, to: number, unless: shouldStop) else {
      throw .system(.unwritable, "cannot write the file")
    }
  }
}

extension FormatError {
  /// An error for the current errno.
  static func system(_ code: Code, _ reason: String, path: String? = nil) -> FormatError {
    let number = errno
    var error = FormatError(code, "\(reason): \(String(cString: strerror(number)))", path: path)
    error.systemError = number
    return error
  }
}

extension Timestamp {
  /// When a file was changed; the nearest date that a store takes.
  init(changeOf status: stat) {
    self.init(seconds: Int64(status.modified.tv_sec), nanoseconds: Int64(status.modified.tv_nsec))
  }
}
