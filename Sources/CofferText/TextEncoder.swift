/// An encoder for UTF-8, chunk by chunk. The output doesn't depend on the chunks' boundaries.
///
/// UTF-8 output is a validated copy. The encoder doesn't allocate memory for a chunk.
public struct TextEncoder: Sendable {
  /// The minimum output size for ``encode(_:into:isFinal:)``, in bytes.
  public static let minimumOutput = 4

  public let encoding: TextEncoding
  public let errorMode: CodingErrorMode

  /// The total number of bytes consumed by all calls.
  public private(set) var bytesConsumed = 0

  var pending = PendingBytes()
  private var mark: [UInt8]
  private let table: [UInt8]
  private var failure: TextCodingError?

  /// - Parameter mark: Whether the text begins with a byte order mark, which code pages don't have.
  public init(_ encoding: TextEncoding, mark: Bool = false, onError errorMode: CodingErrorMode = .fail) {
    self.encoding = encoding
    self.errorMode = errorMode
    self.mark = mark ? encoding.byteOrderMark : []
    table = encoding.codePage?.encodingTable ?? []
  }

  /// Encodes as much input as fits into the output.
  ///
  /// Only complete characters are written. The text has ended when a call with `isFinal` consumes its entire input.
  ///
  /// - Parameters:
  ///   - input: The UTF-8 bytes after the bytes consumed so far.
  ///   - output: The output, with at least ``minimumOutput`` bytes.
  ///   - isFinal: Whether this input ends the stream.
  /// - Returns: The numbers of consumed and written bytes. An incomplete character at the end counts as consumed,
  ///   because the encoder keeps it.
  /// - Throws: An error with the offset if the input isn't UTF-8, or contains a character that isn't in the encoding.
  ///   All later calls throw the same error.
  public mutating func encode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isFinal: Bool
  ) throws(TextCodingError) -> (consumed: Int, written: Int) {
    precondition(output.count >= Self.minimumOutput, "an encoder's output is shorter than TextEncoder.minimumOutput")
    if let failure { throw failure }
    let start = mark.count
    output.copyBytes(from: mark)
    mark = []
    do {
      let room = UnsafeMutableRawBufferPointer(rebasing: output[start...])
      let result = try transcodeChunk(input, into: room, base: start, offset: bytesConsumed, isFinal: isFinal)
      bytesConsumed += result.consumed
      return (result.consumed, start + result.written)
    } catch {
      failure = error
      throw error
    }
  }
}

extension TextEncoder: ChunkedCoder {
  mutating func transcode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, base: Int, offset: Int, isFinal: Bool
  ) throws(TextCodingError) -> TranscodingProgress {
    var progress = TranscodingProgress()
    while true {
      let rest = UnsafeRawBufferPointer(rebasing: input[progress.consumed...])
      let room = UnsafeMutableRawBufferPointer(rebasing: output[progress.written...])
      let part = encode(rest, into: room)
      progress.add(part)
      let fault: Fault
      let length: Int
      switch part.stop {
      case .inputEnd, .outputFull:
        return progress
      case .incompleteTail:
        guard isFinal else { return progress }
        (fault, length) = (.truncatedSequence, input.count - progress.consumed)
      case .fault(let found, let size):
        (fault, length) = (found, size)
      }
      guard errorMode == .replace else {
        throw TextCodingError(
          code: fault == .unencodable ? .unencodableCharacter : .invalidBytes, byteOffset: offset + progress.consumed,
          reason: fault.words)
      }
      guard output.count - progress.written >= replacement.count else {
        progress.stop = .outputFull
        return progress
      }
      UnsafeMutableRawBufferPointer(rebasing: output[progress.written...]).copyBytes(from: replacement)
      progress.consumed += length
      progress.written += replacement.count
    }
  }

  private func encode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer)
    -> TranscodingProgress
  {
    switch encoding {
    case .utf8: UTF8Validator.copy(input, into: output, refusingNUL: false)
    case .utf16LittleEndian: UTF16Encoder.littleEndian(input, into: output)
    case .utf16BigEndian: UTF16Encoder.bigEndian(input, into: output)
    default: CodePageTranscoder.encode(input, into: output, table: table)
    }
  }

  /// The replacement, which is U+FFFD, or a question mark in a code page.
  private var replacement: [UInt8] {
    switch encoding {
    case .utf8: [0xEF, 0xBF, 0xBD]
    case .utf16LittleEndian: [0xFD, 0xFF]
    case .utf16BigEndian: [0xFF, 0xFD]
    default: [UInt8(ascii: "?")]
    }
  }
}
