/// Bytes consumed and written by one pass of a transcoding loop over a buffer, and why it stopped.
///
/// A loop takes whole characters only. It never waits for more input and never decides what a fault means: the decoder
/// or encoder that runs it does.
struct TranscodingProgress {
  enum Stop {
    /// Every byte of the input was taken.
    case inputEnd
    /// The rest of the input begins a character.
    case incompleteTail
    /// The next character does not fit into the output.
    case outputFull
    /// The next `length` bytes of the input are invalid; replacement turns them into one U+FFFD.
    case fault(Fault, length: Int)
  }

  var consumed = 0
  var written = 0
  var stop = Stop.inputEnd

  /// Continues with the pass that began where this one stopped.
  mutating func add(_ next: TranscodingProgress) {
    consumed += next.consumed
    written += next.written
    stop = next.stop
  }
}

/// A fault at one place of the input, as the transcoders report it.
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
  /// Eight bytes at any alignment, the first in the lowest bits.
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
  /// The same 16 bits in each of the four lanes.
  @inline(__always)
  init(lanes: UInt16) {
    self = UInt64(lanes) &* 0x0001_0001_0001_0001
  }
}
