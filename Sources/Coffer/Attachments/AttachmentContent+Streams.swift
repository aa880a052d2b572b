internal import CofferEngine
public import CofferFoundation
internal import CofferRecords

extension AttachmentContent {
  /// Returns the content of a regular file, which is read when it's attached.
  public static func file(_ url: URL) -> AttachmentContent {
    .file(atPath: url.path)
  }

  /// Reads a stream of parts to its end, so writers don't wait for the stream.
  ///
  /// The bytes wait in a file without a name in `TMPDIR`, sealed with a key that only this process has.
  ///
  /// - Parameters:
  ///   - parts: The parts, such as arrays of bytes or `Data`.
  ///   - isolation: The actor that reads the stream, which is the caller's.
  ///   - progress: Called with the number of bytes read, without a total.
  /// - Returns: The content, which can be attached once or more.
  /// - Throws: Errors of the stream and of `progress`, `diskFull`, `ioFailure`, `tooLarge`, or `CancellationError`.
  public static func stream<Parts: AsyncSequence>(
    _ parts: Parts, isolation: isolated (any Actor)? = #isolation, progress: ProgressHandler? = nil
  ) async throws -> AttachmentContent where Parts.Element: Sequence<UInt8> {
    let collector = ContentCollector()
    try progress?(WorkProgress(done: 0))
    for try await part in parts {
      try Task.checkCancellation()
      if try part.withContiguousStorageIfAvailable({ try collector.append(UnsafeRawBufferPointer($0)) }) == nil {
        try Array(part).withUnsafeBytes { try collector.append($0) }
      }
      try progress?(WorkProgress(done: collector.byteCount))
    }
    // Streams of the standard library end when the task is cancelled.
    try Task.checkCancellation()
    return collector.finish()
  }

  /// Reads a stream of bytes to its end, so writers don't wait for the stream.
  ///
  /// The bytes wait in a file without a name in `TMPDIR`, sealed with a key that only this process has.
  ///
  /// - Parameters:
  ///   - bytes: The bytes, such as a `URL`'s `resourceBytes` or a `FileHandle`'s `bytes`.
  ///   - isolation: The actor that reads the stream, which is the caller's.
  ///   - progress: Called with the number of bytes read, without a total.
  /// - Returns: The content, which can be attached once or more.
  /// - Throws: Errors of the stream and of `progress`, `diskFull`, `ioFailure`, `tooLarge`, or `CancellationError`.
  public static func stream<Bytes: AsyncSequence>(
    _ bytes: Bytes, isolation: isolated (any Actor)? = #isolation, progress: ProgressHandler? = nil
  ) async throws -> AttachmentContent where Bytes.Element == UInt8 {
    let collector = ContentCollector()
    var part: [UInt8] = []
    part.reserveCapacity(1 << 16)
    try progress?(WorkProgress(done: 0))
    for try await byte in bytes {
      part.append(byte)
      guard part.count == 1 << 16 else { continue }
      try Task.checkCancellation()
      try part.withUnsafeBytes { try collector.append($0) }
      try progress?(WorkProgress(done: collector.byteCount))
      part.removeAll(keepingCapacity: true)
    }
    try Task.checkCancellation()
    try part.withUnsafeBytes { try collector.append($0) }
    try progress?(WorkProgress(done: collector.byteCount))
    return collector.finish()
  }
}
