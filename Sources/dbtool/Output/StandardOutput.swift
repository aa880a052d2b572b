internal import CofferPlatform
internal import CofferTerminal

/// Buffered standard output. The command writes data only through this class.
///
/// On a terminal, escapes all control characters except line ends and tabs.
final class StandardOutput {
  static let bufferSize = 64 * 1024

  private var buffer: [UInt8] = []
  private let descriptor: Int32
  private let queue: OutputQueue?
  /// The output's name in errors.
  private let name: String
  let isTerminal: Bool

  /// Creates an output to standard output.
  ///
  /// - Parameter readsAhead: Whether only ``flush()`` waits for the reader, so a slow reader doesn't delay reading the
  ///   store, and other processes can write to it.
  init(readsAhead: Bool = false) {
    descriptor = STDOUT_FILENO
    name = "standard output"
    queue = readsAhead ? OutputQueue(descriptor) : nil
    isTerminal = isatty(descriptor) == 1
    buffer.reserveCapacity(Self.bufferSize)
  }

  /// Creates an output to a file.
  init(to file: OutputFile) {
    descriptor = file.descriptor
    name = file.path
    queue = nil
    isTerminal = isatty(descriptor) == 1
    buffer.reserveCapacity(Self.bufferSize)
  }

  /// - Parameter isJSON: Whether the text is JSON, which remains JSON when escaped.
  func write(_ text: String, isJSON: Bool = false) throws {
    var text = isTerminal ? escapingControls(text, keeping: ["\n", "\t"], isJSON: isJSON) : text
    try text.withUTF8 { try append(UnsafeRawBufferPointer($0)) }
  }

  func write(line: String, isJSON: Bool = false) throws {
    try write(line, isJSON: isJSON)
    try write("\n")
  }

  /// - Parameter bytes: Whole characters, in UTF-8 if the output is a terminal.
  func write(_ bytes: UnsafeRawBufferPointer) throws {
    if isTerminal {
      try write(String(decoding: bytes, as: UTF8.self))
    } else {
      try append(bytes)
    }
  }

  /// Writes a part of an escaped line. The caller escapes the whole line, because a part can't be escaped separately.
  ///
  /// - Parameter isHighlighted: Whether to print the part in bold red, like matches in `grep`.
  func write(escaped part: String, isHighlighted: Bool) throws {
    var part = part
    if isHighlighted { try Self.emphasis.withUnsafeBytes { try append($0) } }
    try part.withUTF8 { try append(UnsafeRawBufferPointer($0)) }
    if isHighlighted { try Self.plain.withUnsafeBytes { try append($0) } }
  }

  private static let emphasis = Array("\u{1B}[1;31m".utf8)
  private static let plain = Array("\u{1B}[m".utf8)

  private func append(_ bytes: UnsafeRawBufferPointer) throws {
    if buffer.count + bytes.count > Self.bufferSize {
      try passOn()
    }
    if bytes.count >= Self.bufferSize {
      try passOn(bytes)
    } else {
      buffer.append(contentsOf: bytes)
    }
  }

  /// Writes the rest of the buffer. Call this method at the end. Throws for a full disk or a closed pipe.
  func flush() throws {
    try passOn()
    try queue?.finish()
  }

  private func passOn() throws {
    defer { buffer.removeAll(keepingCapacity: true) }
    try buffer.withUnsafeBytes { try passOn($0) }
  }

  private func passOn(_ bytes: UnsafeRawBufferPointer) throws {
    if let queue {
      try queue.append(bytes)
    } else {
      try Self.writeAll(bytes, to: descriptor, named: name)
    }
  }

  static func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, named name: String = "standard output"
  ) throws {
    guard FileBytes.writeAll(bytes, to: descriptor, unless: { Interrupt.isRequested }) else {
      if errno == EPIPE { throw ClosedPipe() }
      throw Failure.system(errno, name).afterStoring
    }
  }
}

/// Prints a few lines of data and flushes them.
func printLines(_ lines: String...) throws {
  let output = StandardOutput()
  for line in lines {
    try output.write(line: line)
  }
  try output.flush()
}
