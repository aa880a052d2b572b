/// The numbers of bytes consumed and written by a transcoding loop over a buffer, and the reason that it stopped.
///
/// A loop processes only complete characters. It never waits for more input or interprets a fault, because the calling
/// decoder or encoder does.
struct TranscodingProgress {
  enum Stop {
    /// All input is consumed.
    case inputEnd
    /// The remaining input is the beginning of a character.
    case incompleteTail
    /// The next character doesn't fit into the output.
    case outputFull
    /// The next `length` bytes of the input are invalid. They're replaced with a single U+FFFD.
    case fault(Fault, length: Int)
  }

  var consumed = 0
  var written = 0
  var stop = Stop.inputEnd

  /// Adds the pass that continued from this pass.
  mutating func add(_ next: TranscodingProgress) {
    consumed += next.consumed
    written += next.written
    stop = next.stop
  }
}

/// A fault in the input, as reported by transcoders.
enum Fault: Equatable, Sendable {
  case unpairedSurrogate
  case truncatedUnit
  case strayContinuation
  case incompleteSequence
  case truncatedSequence
  case overlong
  case surrogateInUTF8
  case beyondUnicode
  case neverInUTF8
  case nul
  case undefinedByte
  case unencodable

  var words: String {
    switch self {
    case .unpairedSurrogate: "unpaired surrogate"
    case .truncatedUnit: "truncated UTF-16 unit at the end"
    case .strayContinuation: "UTF-8 continuation byte without a beginning"
    case .incompleteSequence: "incomplete UTF-8 sequence"
    case .truncatedSequence: "truncated UTF-8 sequence at the end"
    case .overlong: "overlong UTF-8 sequence"
    case .surrogateInUTF8: "surrogate in UTF-8"
    case .beyondUnicode: "UTF-8 sequence beyond U+10FFFF"
    case .neverInUTF8: "byte that UTF-8 never uses"
    case .nul: "U+0000 in text without a byte order mark"
    case .undefinedByte: "byte that the code page does not define"
    case .unencodable: "character that the encoding does not have"
    }
  }
}

extension UnsafeRawPointer {
  /// Returns eight unaligned bytes, with the first byte in the lowest bits.
  @inline(__always)
  func word(at offset: Int) -> UInt64 {
    UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}

extension UnsafeMutableRawPointer {
  @inline(__always)
  func put<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number, at offset: Int) {
    storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self)
  }
}

extension UInt64 {
  /// Creates four lanes with the same 16 bits.
  @inline(__always)
  init(lanes: UInt16) {
    self = UInt64(lanes) &* 0x0001_0001_0001_0001
  }
}
