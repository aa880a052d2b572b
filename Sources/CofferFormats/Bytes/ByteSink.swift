internal import CofferPlatform

/// A destination of bytes.
public protocol ByteSink: Sendable {
  /// Writes all of the bytes or throws.
  ///
  /// - Throws: `unwritable`; a part of the bytes may have been written.
  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError)
}

/// An open file, pipe or terminal.
public struct FileByteSink: ByteSink {
  private let file: FileDescriptor
  private var shouldStop: (@Sendable () -> Bool)?

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

  /// Writes to an open descriptor, which the caller closes after the last write.
  public init(descriptor: Int32) {
    file = FileDescriptor(borrowing: descriptor)
  }

  /// Writes to an open descriptor. A signal ends a write that waits for a reader if the closure then returns `true`.
  package init(descriptor: Int32, unless shouldStop: @escaping @Sendable () -> Bool) {
    file = FileDescriptor(borrowing: descriptor)
    self.shouldStop = shouldStop
  }

  init(_ file: FileDescriptor) {
    self.file = file
  }

  public mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    try file.write(bytes, unless: shouldStop)
  }
}

/// Bytes in memory.
public struct MemoryByteSink: ByteSink {
  /// All bytes that were written.
  public private(set) var bytes: [UInt8] = []

  /// An empty memory.
  public init() {}

  public mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    self.bytes += bytes
  }
}
