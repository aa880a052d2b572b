public import CofferDocuments
internal import CofferPlatform

/// A source of bytes.
public protocol ByteSource: Sendable {
  /// Reads the available bytes, and waits until there is at least one.
  ///
  /// - Returns: The number of bytes, which is 0 only at the end.
  /// - Throws: `unreadable`.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int
}

/// An open file, pipe or terminal.
public struct FileByteSource: ByteSource {
  private let file: FileDescriptor

  /// Opens an existing file for reading. The file is closed with the last copy of this value.
  ///
  /// - Throws: `unreadable`.
  public init(path: String) throws(FormatError) {
    file = try FileDescriptor(opening: path)
    coffer_read_ahead(file.number)
  }

  /// Opens a pipe or device without waiting for its writer. Wait for input before each read, because a named pipe
  /// without a writer reads as ended.
  ///
  /// - Throws: `unreadable`.
  package init(stream path: String) throws(FormatError) {
    file = try FileDescriptor(opening: path, flags: O_NONBLOCK)
    _ = fcntl(file.number, F_SETFL, 0)
  }

  /// Creates a source for an open descriptor, which the caller closes after the last read.
  public init(descriptor: Int32) {
    file = FileDescriptor(borrowing: descriptor)
  }

  init(_ file: FileDescriptor) {
    self.file = file
  }

  /// The descriptor, which is open for the lifetime of this value.
  package var descriptor: Int32 { file.number }

  /// The modification date of a regular file, or `nil` for other files.
  public var modified: Timestamp? {
    guard let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Timestamp(changeOf: status)
  }

  public mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int {
    guard !buffer.isEmpty else { return 0 }
    return try file.read(into: buffer)
  }
}

/// A byte source in memory.
public struct MemoryByteSource: ByteSource {
  private let bytes: [UInt8]
  private var position = 0
  private let chunk: Int

  /// Creates a source with a copy of these bytes. Each call reads at most `chunk` bytes.
  public init(_ bytes: some Sequence<UInt8>, chunk: Int = .max) {
    self.bytes = Array(bytes)
    self.chunk = max(1, chunk)
  }

  /// Creates a source with a text's UTF-8 bytes. Each call reads at most `chunk` bytes.
  public init(_ text: String, chunk: Int = .max) {
    self.init(text.utf8, chunk: chunk)
  }

  public mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int {
    let count = min(buffer.count, bytes.count - position, chunk)
    bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count])) }
    position += count
    return count
  }
}

/// A source whose first bytes can be inspected before reading, to detect a pipe's format.
public struct PeekedByteSource: ByteSource {
  private var source: any ByteSource
  /// The inspected bytes that haven't been read yet.
  public private(set) var head: [UInt8] = []
  /// A Boolean value that indicates whether ``head`` was the entire input when it was read.
  public private(set) var headIsWhole = false
  private var position = 0

  /// Reads up to `count` bytes ahead into memory, or fewer if the input ends earlier.
  ///
  /// - Throws: An error from the source.
  public init(_ source: any ByteSource, peeking count: Int) throws(FormatError) {
    self.source = source
    var buffer = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = try self.source.read(into: &buffer, from: filled)
      if got == 0 {
        headIsWhole = true
        break
      }
      filled += got
    }
    buffer.removeLast(count - filled)
    head = buffer
  }

  public mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(FormatError) -> Int {
    guard position < head.count else { return try source.read(into: buffer) }
    let count = min(buffer.count, head.count - position)
    head.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count])) }
    position += count
    if position == head.count {
      head = []
      position = 0
    }
    return count
  }
}

extension ByteSource {
  /// Reads into an array, starting at an index.
  mutating func read(into array: inout [UInt8], from index: Int) throws(FormatError) -> Int {
    var result: Result<Int, FormatError> = .success(0)
    array.withUnsafeMutableBytes { buffer in
      do throws(FormatError) {
        result = .success(try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[index...])))
      } catch {
        result = .failure(error)
      }
    }
    return try result.get()
  }
}
