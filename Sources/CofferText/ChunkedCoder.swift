/// An incomplete character or byte order mark at a chunk's end, with at most 3 bytes. It's kept until the next chunk.
struct PendingBytes: Sendable {
  private(set) var count = 0
  /// The bytes, with the first byte in the lowest bits.
  private var bits: UInt64 = 0

  /// Returns up to 8 bytes, which are the kept bytes followed by the input's first bytes, with the first byte in the
  /// lowest bits.
  func joined(with input: UnsafeRawBufferPointer) -> (word: UInt64, count: Int) {
    var word = bits
    var total = count
    for byte in input.prefix(8 - count) {
      word |= UInt64(byte) << UInt64(8 * total)
      total += 1
    }
    return (word, total)
  }

  /// Keeps a word's bytes from `start` to `end`.
  mutating func keep(_ word: UInt64, from start: Int, to end: Int) {
    precondition((0...3).contains(end - start), "internal error: more than the beginning of a character is kept")
    count = end - start
    bits = count == 0 ? 0 : word >> UInt64(8 * start) & (1 << UInt64(8 * count) - 1)
  }

  mutating func drop(_ number: Int) {
    keep(bits, from: number, to: count)
  }
}

/// A transcoder for chunks that can end anywhere, based on a transcoder for whole characters.
protocol ChunkedCoder {
  var pending: PendingBytes { get set }

  /// Transcodes whole characters, and handles faults according to the error mode.
  ///
  /// - Parameters:
  ///   - base: The number of bytes that the call has written to the output before this buffer.
  ///   - offset: The input's offset in the stream.
  ///   - isFinal: Whether the input ends the stream.
  mutating func transcode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, base: Int, offset: Int, isFinal: Bool
  ) throws(TextCodingError) -> TranscodingProgress
}

extension ChunkedCoder {
  /// Transcodes the pending bytes and the input, and keeps an incomplete character at the input's end.
  mutating func transcodeChunk(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, base: Int, offset: Int, isFinal: Bool
  ) throws(TextCodingError) -> (consumed: Int, written: Int) {
    var consumed = 0
    var written = 0
    if pending.count > 0 {
      let kept = pending.count
      let (word, count) = pending.joined(with: input)
      let endsHere = isFinal && count == kept + input.count
      let joint = try withUnsafeBytes(of: word.littleEndian) { (bytes) throws(TextCodingError) -> TranscodingProgress in
        try transcode(
          UnsafeRawBufferPointer(rebasing: bytes[..<count]), into: output, base: base, offset: offset - kept,
          isFinal: endsHere)
      }
      written = joint.written
      if joint.consumed < kept {
        if case .outputFull = joint.stop {
          pending.drop(joint.consumed)
          return (0, written)
        }
        pending.keep(word, from: joint.consumed, to: count)
        return (input.count, written)
      }
      pending = PendingBytes()
      consumed = joint.consumed - kept
      if case .outputFull = joint.stop { return (consumed, written) }
    }
    let rest = UnsafeRawBufferPointer(rebasing: input[consumed...])
    let room = UnsafeMutableRawBufferPointer(rebasing: output[written...])
    let main = try transcode(rest, into: room, base: base + written, offset: offset + consumed, isFinal: isFinal)
    consumed += main.consumed
    written += main.written
    if case .incompleteTail = main.stop {
      let tail = UnsafeRawBufferPointer(rebasing: input[consumed...])
      let (word, count) = PendingBytes().joined(with: tail)
      pending.keep(word, from: 0, to: count)
      consumed = input.count
    }
    return (consumed, written)
  }
}
