internal import CofferPlatform

/// A destination of bytes.
public protocol ByteSink: Sendable {
  /// Writes all bytes or throws.
  ///
  /// - Throws: `unwritable`. Part of the bytes may have been written.
  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError)
}

/// An open file, pipe or terminal.
public struct FileByteSink: ByteSink {
  private let file: FileDescriptor
  private var shouldStop: (@Sendable () -> Bool)?

  /// Creates a new file with default permissions (0666 without the umask).
  ///
  /// - Throws: `outputExists` if the name exists, or `unwritable`.
  public init(creating path: String) throws(FormatError) {
    let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard number >= 0 else {
      throw .system(errno == EEXIST ? .outputExists : .unwritable, "cannot make the file", path: path)
    }
    file = FileDescriptor(owning: number)
  }

  /// Creates a sink for an open descriptor, which the caller closes after the last write.
  public init(descriptor: Int32) {
    file = FileDescriptor(borrowing: descriptor)
  }

  /// Creates a sink for an open descriptor. If a signal interrupts a write that waits for a reader, the write ends if
  /// the closure returns `true`.
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

/// A byte sink in memory.
public struct MemoryByteSink: ByteSink {
  /// The written bytes.
  public private(set) var bytes: [UInt8] = []

  /// Creates an empty sink.
  public init() {}

  public mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    self.bytes += bytes
  }
}
