internal import CofferPlatform
internal import CofferTerminal

/// Standard output, buffered: the only place where the command writes data.
///
/// On a terminal it escapes the control characters of everything written, line ends and tabs aside.
final class StandardOutput {
  static let bufferSize = 64 * 1024

  private var buffer: [UInt8] = []
  private let descriptor: Int32
  private let queue: OutputQueue?
  /// The output's name in errors.
  private let name: String
  let isTerminal: Bool

  /// Standard output.
  ///
  /// - Parameter readsAhead: nothing waits for the reader before ``flush()``, so that a store is read to its end, and
  ///   free for writers, however slow the reader is.
  init(readsAhead: Bool = false) {
    descriptor = STDOUT_FILENO
    name = "standard output"
    queue = readsAhead ? OutputQueue(descriptor) : nil
    isTerminal = isatty(descriptor) == 1
    buffer.reserveCapacity(Self.bufferSize)
  }

  /// A file.
  init(to file: OutputFile) {
    descriptor = file.descriptor
    name = file.path
    queue = nil
    isTerminal = isatty(descriptor) == 1
    buffer.reserveCapacity(Self.bufferSize)
  }

  /// - Parameter isJSON: the text is JSON, and stays JSON when it is escaped.
  func write(_ text: String, isJSON: Bool = false) throws {
    var text = isTerminal ? escapingControls(text, keeping: ["\n", "\t"], isJSON: isJSON) : text
    try text.withUTF8 { try append(UnsafeRawBufferPointer($0)) }
  }

  func write(line: String, isJSON: Bool = false) throws {
    try write(line, isJSON: isJSON)
    try write("\n")
  }

  /// - Parameter bytes: whole characters, in UTF-8 if this is a terminal.
  func write(_ bytes: UnsafeRawBufferPointer) throws {
    if isTerminal {
      try write(String(decoding: bytes, as: UTF8.self))
    } else {
      try append(bytes)
    }
  }

  /// Writes a part of a line that was escaped as a whole, which a part alone can't be.
  ///
  /// - Parameter isHighlighted: in bold red, as `grep` shows what it found.
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

  /// Must be called at the end; throws for a full disk or a closed pipe.
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
      throw Failure.system(errno, name)
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
