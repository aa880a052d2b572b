/// A decoder that converts bytes to UTF-8, chunk by chunk. The output doesn't depend on the chunks' boundaries.
///
/// A byte order mark at the beginning is dropped, and further marks are text. The decoder doesn't allocate memory for a
/// chunk, unless it replaces bytes.
public struct TextDecoder: Sendable {
  /// The minimum output size for ``decode(_:into:isFinal:)``, in bytes.
  public static let minimumOutput = 4

  /// A position at which U+FFFD replaced invalid bytes.
  public struct Replacement: Hashable, Sendable {
    /// The offset of U+FFFD in the call's output.
    public let outputOffset: Int
    /// The offset of the invalid bytes in the stream.
    public let inputOffset: Int
    /// A description of the fault.
    public var reason: String { fault.words }

    let fault: Fault
  }

  public let choice: EncodingChoice
  public let errorMode: CodingErrorMode

  /// The text's encoding, which is known after at most 4 bytes or at the end of a shorter text. The encoding of an
  /// empty text is UTF-8.
  public internal(set) var encoding: TextEncoding?

  /// A Boolean value that indicates whether the text begins with a byte order mark.
  public internal(set) var markWasFound = false

  /// The total number of bytes consumed by all calls.
  public private(set) var bytesConsumed = 0

  /// The last call's replacements, in order. There is at most one for every 3 bytes of output.
  public private(set) var replacements: [Replacement] = []

  /// The number of bytes in the stream that have become output. The other ``bytesConsumed`` begin a pending character.
  package var bytesDecoded: Int { bytesConsumed - pending.count }

  var pending = PendingBytes()
  /// Whether UTF-8 is assumed without a byte order mark. A fault then indicates another encoding, unless enough
  /// characters are valid UTF-8.
  var isUndecided = false
  /// The number of characters beyond ASCII that identifies UTF-8. Texts in other encodings contain byte pairs that
  /// resemble such characters, but not this many before the first fault.
  private static let decisiveCharacters = 4
  /// The number of characters beyond ASCII so far, counted only until it's decisive, and only if faults may be
  /// replaced.
  private var longCharacters = 0
  private var table: [UInt32] = []
  private let utf16: UTF16Decoder
  private var failure: TextCodingError?

  public init(_ choice: EncodingChoice, onError errorMode: CodingErrorMode = .fail) {
    self.init(choice, onError: errorMode, usingKernels: true)
  }

  /// - Parameter usingKernels: Whether to use the kernels. `false` decodes like a processor without a kernel.
  package init(_ choice: EncodingChoice, onError errorMode: CodingErrorMode = .fail, usingKernels: Bool) {
    utf16 = usingKernels ? .fastest : .scalar
    self.choice = choice
    self.errorMode = errorMode
    if case .fixed(let encoding) = choice, let page = encoding.codePage {
      self.encoding = encoding
      table = page.decodingTable
    }
  }

  /// Decodes as much input as fits into the output.
  ///
  /// Only complete characters are written. The text has ended when a call with `isFinal` consumes its entire input.
  ///
  /// - Parameters:
  ///   - input: The bytes after the bytes consumed so far.
  ///   - output: The output, with at least ``minimumOutput`` bytes.
  ///   - isFinal: Whether this input ends the stream.
  /// - Returns: The numbers of consumed and written bytes. An incomplete character at the end counts as consumed,
  ///   because the decoder keeps it.
  /// - Throws: An error for invalid bytes. With ``CodingErrorMode/replace``, only faults that replacement can't repair:
  ///   a missing byte order mark, a UTF-32 byte order mark, and with ``EncodingChoice/automatic`` without a mark,
  ///   U+0000, or a fault before four characters beyond ASCII. All later calls throw the same error.
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
        // The entire tail is a single fault, including a lead surrogate with half a unit after it.
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
