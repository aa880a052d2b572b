/// Decodes bytes to UTF-8, chunk by chunk; what comes out does not depend on where the chunks end.
///
/// A byte order mark at the beginning is dropped, further ones are text. Allocates nothing per chunk, unless bytes are
/// replaced.
public struct TextDecoder: Sendable {
  /// The smallest output that ``decode(_:into:isFinal:)`` takes, in bytes.
  public static let minimumOutput = 4

  /// A place at which U+FFFD was written for bytes that are no text.
  public struct Replacement: Hashable, Sendable {
    /// Where U+FFFD begins, counted from the beginning of that call's output.
    public let outputOffset: Int
    /// Where the bad bytes begin, counted from the beginning of the stream.
    public let inputOffset: Int
    /// What is wrong with them, in words.
    public var reason: String { fault.words }

    let fault: Fault
  }

  public let choice: EncodingChoice
  public let errorMode: CodingErrorMode

  /// The encoding of the text, known after 4 bytes at most, or at the end of a shorter text; UTF-8 for an empty one.
  public internal(set) var encoding: TextEncoding?

  /// The text begins with a byte order mark.
  public internal(set) var markWasFound = false

  /// How many bytes all calls together have consumed.
  public private(set) var bytesConsumed = 0

  /// What the last call replaced, in order; at most one for every 3 bytes of its output.
  public private(set) var replacements: [Replacement] = []

  var carry = Carry()
  /// UTF-8 that nothing but its own validity speaks for: any fault means that it is something else.
  var isUndecided = false
  private var table: [UInt32] = []
  private let kernel: UTF16Kernel?
  private var failure: TextCodingError?

  public init(_ choice: EncodingChoice, onError errorMode: CodingErrorMode = .fail) {
    self.init(choice, onError: errorMode, usingKernels: true)
  }

  /// - Parameter usingKernels: false decodes as on a processor for which there is no kernel.
  package init(_ choice: EncodingChoice, onError errorMode: CodingErrorMode = .fail, usingKernels: Bool) {
    kernel = usingKernels ? .shared : nil
    self.choice = choice
    self.errorMode = errorMode
    if case .fixed(let encoding) = choice, let page = CodePage(encoding) {
      self.encoding = encoding
      table = page.decodingTable
    }
  }

  /// Decodes as much of the input as fits into the output.
  ///
  /// Characters are written whole. The text has ended when a call with `isFinal` consumes all of its input.
  ///
  /// - Parameters:
  ///   - input: what follows the bytes that were consumed so far.
  ///   - output: at least ``minimumOutput`` bytes.
  ///   - isFinal: nothing follows this input.
  /// - Returns: how many bytes were consumed and written. A part of a character at the end counts as consumed: the
  ///   decoder keeps it.
  /// - Throws: under ``CodingErrorMode/replace`` only what replacement can't mend: a missing byte order mark, UTF-32's,
  ///   and under ``EncodingChoice/automatic`` without a mark anything that is not UTF-8 or is U+0000. Every later call
  ///   throws the same.
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
      var result = try advance(
        UnsafeRawBufferPointer(rebasing: input[mark...]), into: output, base: 0, offset: bytesConsumed + mark,
        isFinal: isFinal)
      result.consumed += mark
      bytesConsumed += result.consumed
      return result
    } catch {
      var error = error
      if error.suggestions.isEmpty, error.code == .undecidedEncoding || error.code == .needsMark {
        error.suggestions = suggestions(for: error, in: input)
      }
      failure = error
      throw error
    }
  }
}

extension TextDecoder: ChunkedCoder {
  mutating func walk(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, base: Int, offset: Int, isFinal: Bool
  ) throws(TextCodingError) -> Walk {
    var walk = Walk()
    while true {
      let rest = UnsafeRawBufferPointer(rebasing: input[walk.consumed...])
      let room = UnsafeMutableRawBufferPointer(rebasing: output[walk.written...])
      let part =
        switch encoding {
        case .utf8: UTF8Walk.copy(rest, into: room, refusingNUL: isUndecided)
        case .utf16LittleEndian: UTF16Walk.littleEndian(rest, into: room, with: kernel)
        case .utf16BigEndian: UTF16Walk.bigEndian(rest, into: room, with: kernel)
        default: CodePageWalk.decode(rest, into: room, table: table)
        }
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
        // The whole tail is one fault, also a lead surrogate with half a unit after it.
        length = input.count - walk.consumed
        fault = encoding == .utf8 ? .truncatedSequence : length == 1 ? .truncatedUnit : .unpairedSurrogate
      case .fault(let found, let size):
        (fault, length) = (found, size)
      }
      guard errorMode == .replace, !isUndecided else {
        throw TextCodingError(
          code: isUndecided ? .undecidedEncoding : .invalidBytes, byteOffset: offset + walk.consumed,
          reason: fault.words)
      }
      guard output.count - walk.written >= 3 else {
        walk.stop = .outputFull
        return walk
      }
      replacements.append(
        Replacement(
          outputOffset: base + walk.written, inputOffset: offset + walk.consumed, fault: fault))
      output[walk.written] = 0xEF
      output[walk.written + 1] = 0xBF
      output[walk.written + 2] = 0xBD
      walk.consumed += length
      walk.written += 3
    }
  }
}
