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

  /// Reads some bytes with read(2), which is repeated after a signal. Returns 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int {
    let count = FileBytes.readSome(of: number, into: buffer)
    guard count >= 0 else { throw .system(.unreadable, "cannot read the file") }
    return count
  }

  /// Returns the file's metadata from fstat(2).
  func status() throws(FormatError) -> stat {
    var status = stat()
    guard fstat(number, &status) == 0 else { throw .system(.unreadable, "cannot look at the file") }
    return status
  }

  /// Writes all bytes with write(2), which is repeated as needed.
  ///
  /// - Parameter shouldStop: Called after a signal interrupts write(2). Returns whether to throw `unwritable`.
  func write(_ bytes: UnsafeRawBufferPointer, unless shouldStop: (() -> Bool)? = nil) throws(FormatError) {
    guard FileBytes.writeAll(bytes, to: number, unless: shouldStop) else {
      throw .system(.unwritable, "cannot write the file")
    }
  }
}

extension FormatError {
  /// Creates an error for the current `errno`.
  static func system(_ code: Code, _ reason: String, path: String? = nil) -> FormatError {
    let number = errno
    var error = FormatError(code, "\(reason): \(String(cString: strerror(number)))", path: path)
    error.systemError = number
    return error
  }
}

extension Timestamp {
  /// Creates the file's modification date, or the nearest date that a store accepts.
  init(changeOf status: stat) {
    self.init(seconds: Int64(status.modified.tv_sec), nanoseconds: Int64(status.modified.tv_nsec))
  }
}
