/// Decodes bytes to UTF-8, chunk by chunk; the output does not depend on where the chunks end.
///
/// A byte order mark at the beginning is dropped, further ones are text. Allocates nothing per chunk, unless bytes are
/// replaced.
public struct TextDecoder: Sendable {
  /// The smallest output that ``decode(_:into:isFinal:)`` takes, in bytes.
  public static let minimumOutput = 4

  /// A place where U+FFFD replaced invalid bytes.
  public struct Replacement: Hashable, Sendable {
    /// The offset of U+FFFD in that call's output.
    public let outputOffset: Int
    /// The offset of the invalid bytes in the stream.
    public let inputOffset: Int
    /// The fault in words.
    public var reason: String { fault.words }

    let fault: Fault
  }

  public let choice: EncodingChoice
  public let errorMode: CodingErrorMode

  /// The text's encoding, known after 4 bytes at most or at the end of a shorter text; UTF-8 for an empty one.
  public internal(set) var encoding: TextEncoding?

  /// The text begins with a byte order mark.
  public internal(set) var markWasFound = false

  /// Bytes consumed by all calls together.
  public private(set) var bytesConsumed = 0

  /// Replacements by the last call, in order; at most one for every 3 bytes of its output.
  public private(set) var replacements: [Replacement] = []

  /// How many bytes of the stream have become output; the rest of ``bytesConsumed`` begins a character that is pending.
  package var bytesDecoded: Int { bytesConsumed - pending.count }

  var pending = PendingBytes()
  /// UTF-8 assumed without a byte order mark: a fault means another encoding, unless enough characters are in UTF-8.
  var isUndecided = false
  /// So many characters beyond ASCII make a text UTF-8: others have pairs of bytes that look like them, but not at once.
  private static let decisiveCharacters = 4
  /// The characters beyond ASCII so far, counted until they decide, and only if faults may be replaced.
  private var longCharacters = 0
  private var table: [UInt32] = []
  private let utf16: UTF16Decoder
  private var failure: TextCodingError?

  public init(_ choice: EncodingChoice, onError errorMode: CodingErrorMode = .fail) {
    self.init(choice, onError: errorMode, usingKernels: true)
  }

  /// - Parameter usingKernels: false decodes as on a processor without a kernel.
  package init(_ choice: EncodingChoice, onError errorMode: CodingErrorMode = .fail, usingKernels: Bool) {
    utf16 = usingKernels ? .fastest : .scalar
    self.choice = choice
    self.errorMode = errorMode
    if case .fixed(let encoding) = choice, let page = encoding.codePage {
      self.encoding = encoding
      table = page.decodingTable
    }
  }

  /// Decodes as much of the input as fits into the output.
  ///
  /// Characters are written whole. The text has ended when a call with `isFinal` consumes all of its input.
  ///
  /// - Parameters:
  ///   - input: the bytes that follow those consumed so far.
  ///   - output: at least ``minimumOutput`` bytes.
  ///   - isFinal: this input ends the stream.
  /// - Returns: the bytes consumed and written. An incomplete character at the end counts as consumed: the decoder keeps
  ///   it.
  /// - Throws: under ``CodingErrorMode/replace`` only what replacement can't repair: a missing byte order mark, UTF-32's,
  ///   and under ``EncodingChoice/automatic`` without a mark U+0000, and a fault before four characters beyond ASCII.
  ///   Every later call throws the same.
  public mutating func decode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isFinal: Bool
  ) throws(TextCodingError) -> (consumed: Int, written: Int) {
    precondition(output.count >= Self.minimumOutput, "a decoder's output is shorter than TextDecoder.minimumOutput")
    if let failure { throw failure }
    replacements.removeAll(keepingCapacity: true)
    do {
      var mark = 0
      if encoding == nil {
        guard let end = try findMark(input, isFinal: isFinal) else {
          bytesConsumed += input.count
          return (input.count, 0)
        }
        mark = end
      }
      var result = try transcodeChunk(
        UnsafeRawBufferPointer(rebasing: input[mark...]), into: output, base: 0, offset: bytesConsumed + mark,
        isFinal: isFinal)
      result.consumed += mark
      bytesConsumed += result.consumed
      return result
    } catch {
      var error = error
      if error.suggestions.isEmpty, error.code == .undecidedEncoding || error.code == .needsMark {
        addSuggestions(to: &error, in: input)
      }
      failure = error
      throw error
    }
  }
}

extension TextDecoder: ChunkedCoder {
  mutating func transcode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, base: Int, offset: Int, isFinal: Bool
  ) throws(TextCodingError) -> TranscodingProgress {
    var progress = TranscodingProgress()
    while true {
      let rest = UnsafeRawBufferPointer(rebasing: input[progress.consumed...])
      let room = UnsafeMutableRawBufferPointer(rebasing: output[progress.written...])
      let part =
        switch encoding {
        case .utf8: UTF8Validator.copy(rest, into: room, refusingNUL: isUndecided)
        case .utf16LittleEndian: utf16.decode(rest, into: room, isBigEndian: false)
        case .utf16BigEndian: utf16.decode(rest, into: room, isBigEndian: true)
        default: CodePageTranscoder.decode(rest, into: room, table: table)
        }
      progress.add(part)
      if isUndecided, errorMode == .replace, longCharacters < Self.decisiveCharacters {
        longCharacters += room[..<part.written].count(where: { $0 >= 0xC0 })
      }
      let fault: Fault
      let length: Int
      switch part.stop {
      case .inputEnd, .outputFull:
        return progress
      case .incompleteTail:
        guard isFinal else { return progress }
        // The whole tail is one fault, also a lead surrogate with half a unit after it.
        length = input.count - progress.consumed
        fault = encoding == .utf8 ? .truncatedSequence : length == 1 ? .truncatedUnit : .unpairedSurrogate
      case .fault(let found, let size):
        (fault, length) = (found, size)
      }
      let isDecided = !isUndecided || longCharacters >= Self.decisiveCharacters && fault != .nul
      guard errorMode == .replace, isDecided else {
        throw TextCodingError(
          code: isUndecided ? .undecidedEncoding : .invalidBytes, byteOffset: offset + progress.consumed,
          reason: fault.words)
      }
      guard output.count - progress.written >= 3 else {
        progress.stop = .outputFull
        return progress
      }
      replacements.append(
        Replacement(
          outputOffset: base + progress.written, inputOffset: offset + progress.consumed, fault: fault))
      output[progress.written] = 0xEF
      output[progress.written + 1] = 0xBF
      output[progress.written + 2] = 0xBD
      progress.consumed += length
      progress.written += 3
    }
  }
}
