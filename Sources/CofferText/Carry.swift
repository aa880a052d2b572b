/// The beginning of a character (or of a byte order mark) that a chunk ended in: at most 3 bytes, kept until the next.
struct Carry: Sendable {
  private(set) var count = 0
  /// The first byte in the lowest bits.
  private var bits: UInt64 = 0

  /// The bytes kept and then the first of the input, 8 at most, the first in the lowest bits.
  func joined(with input: UnsafeRawBufferPointer) -> (word: UInt64, count: Int) {
    var word = bits
    var total = count
    for byte in input.prefix(8 - count) {
      word |= UInt64(byte) << UInt64(8 * total)
      total += 1
    }
    return (word, total)
  }

  /// Keeps the bytes of a word from `start` to `end`.
  mutating func keep(_ word: UInt64, from start: Int, to end: Int) {
    precondition((0...3).contains(end - start), "internal error: more than the beginning of a character is kept")
    count = end - start
    bits = count == 0 ? 0 : word >> UInt64(8 * start) & (1 << UInt64(8 * count) - 1)
  }

  mutating func drop(_ number: Int) {
    keep(bits, from: number, to: count)
  }
}

/// What the decoder and the encoder have in common: a walk over whole characters, and chunks that end anywhere.
protocol ChunkedCoder {
  var carry: Carry { get set }

  /// Takes whole characters, faults included as the error mode says.
  ///
  /// - Parameters:
  ///   - base: how many bytes of the output the call has written before this buffer.
  ///   - offset: where in the stream the input begins.
  ///   - isFinal: what the input ends in is all there is.
  mutating func walk(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, base: Int, offset: Int, isFinal: Bool
  ) throws(TextCodingError) -> Walk
}

extension ChunkedCoder {
  /// Walks over what was kept, then over the input, and keeps what the input ends in.
  mutating func advance(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, base: Int, offset: Int, isFinal: Bool
  ) throws(TextCodingError) -> (consumed: Int, written: Int) {
    var consumed = 0
    var written = 0
    if carry.count > 0 {
      let kept = carry.count
      let (word, count) = carry.joined(with: input)
      let endsHere = isFinal && count == kept + input.count
      let joint = try withUnsafeBytes(of: word.littleEndian) { (bytes) throws(TextCodingError) -> Walk in
        try walk(
          UnsafeRawBufferPointer(rebasing: bytes[..<count]), into: output, base: base, offset: offset - kept,
          isFinal: endsHere)
      }
      written = joint.written
      if joint.consumed < kept {
        if case .outputFull = joint.stop {
          carry.drop(joint.consumed)
          return (0, written)
        }
        carry.keep(word, from: joint.consumed, to: count)
        return (input.count, written)
      }
      carry = Carry()
      consumed = joint.consumed - kept
      if case .outputFull = joint.stop { return (consumed, written) }
    }
    let rest = UnsafeRawBufferPointer(rebasing: input[consumed...])
    let room = UnsafeMutableRawBufferPointer(rebasing: output[written...])
    let main = try walk(rest, into: room, base: base + written, offset: offset + consumed, isFinal: isFinal)
    consumed += main.consumed
    written += main.written
    if case .incompleteTail = main.stop {
      let tail = UnsafeRawBufferPointer(rebasing: input[consumed...])
      let (word, count) = Carry().joined(with: tail)
      carry.keep(word, from: 0, to: count)
      consumed = input.count
    }
    return (consumed, written)
  }
}
