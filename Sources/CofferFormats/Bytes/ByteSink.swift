internal import Glibc

/// A destination of bytes.
public protocol ByteSink: Sendable {
  /// Writes all of the bytes or throws.
  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError)
}

/// An open file, pipe or terminal.
public struct FileByteSink: ByteSink {
  private let file: FileDescriptor

  /// Creates a new file with the usual permissions (0666 without the umask).
  ///
  /// - Throws: `outputExists` if anything has that name; `unwritable`.
  public init(creating path: String) throws(FormatError) {
    let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard number >= 0 else {
      throw .system(errno == EEXIST ? .outputExists : .unwritable, "cannot make the file", path: path)
    }
    file = FileDescriptor(owning: number)
  }

  /// Writes to a descriptor, which the caller closes.
  public init(descriptor: Int32) {
    file = FileDescriptor(borrowing: descriptor)
  }

  init(_ file: FileDescriptor) {
    self.file = file
  }

  public mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    try file.write(bytes)
  }
}

/// Bytes in memory.
public struct MemoryByteSink: ByteSink {
  public private(set) var bytes: [UInt8] = []

  public init() {}

  public mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    self.bytes += bytes
  }
}
