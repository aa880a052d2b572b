internal import CofferText

/// Collects UTF-8, encodes it to another encoding if needed, and writes it to a sink in large pieces.
struct EncodedOutput<Sink: ByteSink>: Sendable {
  /// The size of pieces, in bytes.
  static var pieceSize: Int { 256 << 10 }

  private(set) var sink: Sink
  /// The UTF-8 bytes to write. Append to this buffer, and then call ``writeIfFull()``.
  var buffer: [UInt8] = []
  /// The encoder, or `nil` for UTF-8, which is written unchanged.
  private var encoder: TextEncoder?
  private var encoded: [UInt8] = []

  init(_ sink: Sink, options: WritingOptions = WritingOptions()) {
    self.sink = sink
    buffer.reserveCapacity(Self.pieceSize + Self.pieceSize / 4)
    if options.encoding == .utf8 {
      if options.byteOrderMark { buffer += TextEncoding.utf8.byteOrderMark }
    } else {
      encoder = TextEncoder(options.encoding, mark: options.byteOrderMark)
      encoded = [UInt8](repeating: 0, count: Self.pieceSize)
    }
  }

  @inline(__always)
  mutating func writeIfFull() throws(FormatError) {
    if buffer.count >= Self.pieceSize { try write(isFinal: false) }
  }

  /// Writes the remaining bytes. This must be the last call.
  mutating func finish() throws(FormatError) {
    try write(isFinal: true)
  }

  /// Transforms and writes a long text in pieces, so the entire transformed text is never in memory.
  mutating func append(
    _ text: UnsafeRawBufferPointer, with transform: (UnsafeRawBufferPointer, inout [UInt8]) -> Void
  ) throws(FormatError) {
    var rest = text
    while rest.count > Self.pieceSize {
      transform(UnsafeRawBufferPointer(rebasing: rest[..<Self.pieceSize]), &buffer)
      rest = UnsafeRawBufferPointer(rebasing: rest[Self.pieceSize...])
      try writeIfFull()
    }
    transform(rest, &buffer)
    try writeIfFull()
  }

  private mutating func write(isFinal: Bool) throws(FormatError) {
    var failure: FormatError?
    buffer.withUnsafeBytes { bytes in
      do throws(FormatError) {
        if encoder == nil {
          if !bytes.isEmpty { try sink.write(bytes) }
        } else {
          try encode(bytes, isFinal: isFinal)
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    buffer.removeAll(keepingCapacity: true)
  }

  private mutating func encode(_ bytes: UnsafeRawBufferPointer, isFinal: Bool) throws(FormatError) {
    var rest = bytes
    var isFirst = true
    while isFirst || !rest.isEmpty {
      isFirst = false
      let result: Result<(consumed: Int, written: Int), TextCodingError> = encoded.withUnsafeMutableBytes { output in
        do throws(TextCodingError) {
          return .success(try encoder!.encode(rest, into: output, isFinal: isFinal))
        } catch {
          return .failure(error)
        }
      }
      switch result {
      case .success(let (consumed, written)):
        rest = UnsafeRawBufferPointer(rebasing: rest[consumed...])
        try writeEncoded(written)
      case .failure(let error):
        throw FormatError(.unencodable, error.reason)
      }
    }
  }

  private mutating func writeEncoded(_ count: Int) throws(FormatError) {
    var failure: FormatError?
    encoded.withUnsafeBytes { bytes in
      do throws(FormatError) {
        if count > 0 { try sink.write(UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }
}
