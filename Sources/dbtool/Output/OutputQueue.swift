internal import Coffer
internal import CofferEngine
internal import CofferPlatform

/// A queue of output that its reader hasn't taken. Only ``finish()`` and output beyond a limit wait for the reader.
final class OutputQueue {
  /// The maximum number of waiting bytes, because an endless query must not fill the disk.
  private static let limit = 1 << 30
  /// The number of bytes that a ready pipe takes without blocking (PIPE_BUF of linux/limits.h).
  private static let pipeChunk = 4096
  /// The number of bytes that a ready terminal takes without blocking (WAKEUP_CHARS of the kernel's tty layer).
  private static let terminalChunk = 256

  private let descriptor: Int32
  /// The number of bytes that the ready output takes without blocking, or 0 if the number is unknown.
  private let chunk: Int
  private let isFile: Bool
  private let spool = SealedSpool()
  /// The first bytes, taken from the spool.
  private var head: ArraySlice<UInt8> = []

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    var status = stat()
    let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
    isFile = kind == S_IFREG || kind == S_IFCHR && isatty(descriptor) == 0
    chunk = isFile ? .max : kind == S_IFIFO ? Self.pipeChunk : kind == S_IFCHR ? Self.terminalChunk : 0
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws {
    try sendWaiting()
    var rest = bytes
    while head.isEmpty, spool.count == 0, !rest.isEmpty, isReady {
      rest = UnsafeRawBufferPointer(rebasing: rest[try send(rest)...])
    }
    do {
      try spool.append(rest)
    } catch {
      // If the spool isn't available, the store waits for the reader.
      try finish()
      return try StandardOutput.writeAll(rest, to: descriptor)
    }
    if spool.count >= Self.limit { try finish() }
  }

  /// Writes all output, however long the reader takes.
  func finish() throws {
    repeat {
      try head.withUnsafeBytes { try StandardOutput.writeAll($0, to: descriptor) }
      head = try spool.takePiece()[...]
    } while !head.isEmpty
  }

  private func sendWaiting() throws {
    while isReady {
      if head.isEmpty { head = try spool.takePiece()[...] }
      if head.isEmpty { return }
      head = head.dropFirst(try head.withUnsafeBytes { try send($0) })
    }
  }

  /// - Returns: The number of written bytes.
  private func send(_ bytes: UnsafeRawBufferPointer) throws -> Int {
    let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(chunk))
    try StandardOutput.writeAll(part, to: descriptor)
    return part.count
  }

  /// A Boolean value that indicates whether a chunk can be written without waiting, or the write reports a missing reader.
  private var isReady: Bool {
    guard chunk > 0, !isFile else { return isFile }
    return coffer_wait_until_writable(descriptor, 0) > 0
  }
}
