/// Encodes UTF-8, chunk by chunk; what comes out does not depend on where the chunks end.
///
/// To UTF-8 it copies, having checked. Allocates nothing per chunk.
public struct TextEncoder: Sendable {
  /// The smallest output that ``encode(_:into:isFinal:)`` takes, in bytes.
  public static let minimumOutput = 4

  public let encoding: TextEncoding
  public let errorMode: CodingErrorMode

  /// How many bytes all calls together have consumed.
  public private(set) var bytesConsumed = 0

  var carry = Carry()
  private var mark: [UInt8]
  private let table: [UInt8]
  private var failure: TextCodingError?

  /// - Parameter mark: the text begins with a byte order mark; code pages have none.
  public init(_ encoding: TextEncoding, mark: Bool = false, onError errorMode: CodingErrorMode = .fail) {
    self.encoding = encoding
    self.errorMode = errorMode
    self.mark = mark ? encoding.byteOrderMark : []
    table = CodePage(encoding)?.encodingTable ?? []
  }

  /// Encodes as much of the input as fits into the output.
  ///
  /// Characters are written whole. The text has ended when a call with `isFinal` consumes all of its input.
  ///
  /// - Parameters:
  ///   - input: UTF-8 that follows the bytes that were consumed so far.
  ///   - output: at least ``minimumOutput`` bytes.
  ///   - isFinal: nothing follows this input.
  /// - Returns: how many bytes were consumed and written. A part of a character at the end counts as consumed: the
  ///   encoder keeps it.
  /// - Throws: for input that is not UTF-8, and characters that the encoding does not have, with their offset. Every
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
      let result = try advance(input, into: room, base: start, offset: bytesConsumed, isFinal: isFinal)
      bytesConsumed += result.consumed
      return (result.consumed, start + result.written)
    } catch {
      failure = error
      throw error
    }
  }
}

extension TextEncoder: ChunkedCoder {
  mutating func walk(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, base: Int, offset: Int, isFinal: Bool
  ) throws(TextCodingError) -> Walk {
    var walk = Walk()
    while true {
      let rest = UnsafeRawBufferPointer(rebasing: input[walk.consumed...])
      let room = UnsafeMutableRawBufferPointer(rebasing: output[walk.written...])
      let part = encode(rest, into: room)
      walk.consumed += part.consumed
      walk.written += part.written
      walk.stop = part.stop
      let fault: Fault
      let length: Int
      switch part.stop {
      case .inputEnd, .outputFull:
        return walk
      case .incompleteTail:
        guard isFinal else { return walk }
        (fault, length) = (.truncatedSequence, input.count - walk.consumed)
      case .fault(let found, let size):
        (fault, length) = (found, size)
      }
      guard errorMode == .replace else {
        throw TextCodingError(
          code: fault == .unencodable ? .unencodableCharacter : .invalidBytes, byteOffset: offset + walk.consumed,
          reason: fault.words)
      }
      guard output.count - walk.written >= replacement.count else {
        walk.stop = .outputFull
        return walk
      }
      UnsafeMutableRawBufferPointer(rebasing: output[walk.written...]).copyBytes(from: replacement)
      walk.consumed += length
      walk.written += replacement.count
    }
  }

  private func encode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Walk {
    switch encoding {
    case .utf8: UTF8Walk.copy(input, into: output, refusingNUL: false)
    case .utf16LittleEndian: UTF16Writing.littleEndian(input, into: output)
    case .utf16BigEndian: UTF16Writing.bigEndian(input, into: output)
    default: CodePageWalk.encode(input, into: output, table: table)
    }
  }

  /// U+FFFD, or a question mark where there is none.
  private var replacement: [UInt8] {
    switch encoding {
    case .utf8: [0xEF, 0xBF, 0xBD]
    case .utf16LittleEndian: [0xFD, 0xFF]
    case .utf16BigEndian: [0xFF, 0xFD]
    default: [UInt8(ascii: "?")]
    }
  }
}
