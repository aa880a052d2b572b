/// How far one walk over a buffer came, and why it stopped.
///
/// A walk takes whole characters only. It never waits for more input and never decides what a fault means: that is the
/// business of the decoder or encoder that runs it.
struct Walk {
  enum Stop {
    /// Every byte of the input was taken.
    case inputEnd
    /// The rest of the input is the beginning of a character.
    case incompleteTail
    /// The next character does not fit into the output.
    case outputFull
    /// The next `length` bytes of the input are no character; with replacement they become one U+FFFD.
    case fault(Fault, length: Int)
  }

  var consumed = 0
  var written = 0
  var stop = Stop.inputEnd
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
