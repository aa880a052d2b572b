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
