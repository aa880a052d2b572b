/// Encodes UTF-8, chunk by chunk; the output does not depend on where the chunks end.
///
/// UTF-8 output is a checked copy. Allocates nothing per chunk.
public struct TextEncoder: Sendable {
  /// The smallest output that ``encode(_:into:isFinal:)`` takes, in bytes.
  public static let minimumOutput = 4

  public let encoding: TextEncoding
  public let errorMode: CodingErrorMode

  /// Bytes consumed by all calls together.
  public private(set) var bytesConsumed = 0

  var pending = PendingBytes()
  private var mark: [UInt8]
  private let table: [UInt8]
  private var failure: TextCodingError?

  /// - Parameter mark: the text begins with a byte order mark; code pages have none.
  public init(_ encoding: TextEncoding, mark: Bool = false, onError errorMode: CodingErrorMode = .fail) {
    self.encoding = encoding
    self.errorMode = errorMode
    self.mark = mark ? encoding.byteOrderMark : []
    table = encoding.codePage?.encodingTable ?? []
  }

  /// Encodes as much of the input as fits into the output.
  ///
  /// Characters are written whole. The text has ended when a call with `isFinal` consumes all of its input.
  ///
  /// - Parameters:
  ///   - input: UTF-8 that follows the bytes consumed so far.
  ///   - output: at least ``minimumOutput`` bytes.
  ///   - isFinal: this input ends the stream.
  /// - Returns: the bytes consumed and written. An incomplete character at the end counts as consumed: the encoder keeps
  ///   it.
  /// - Throws: for input that is not UTF-8, and characters that the encoding lacks, with their offset. Every
  ///   later call throws the same.
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

  /// U+FFFD, or a question mark in a code page.
  private var replacement: [UInt8] {
    switch encoding {
    case .utf8: [0xEF, 0xBF, 0xBD]
    case .utf16LittleEndian: [0xFD, 0xFF]
    case .utf16BigEndian: [0xFF, 0xFD]
    default: [UInt8(ascii: "?")]
    }
  }
}
