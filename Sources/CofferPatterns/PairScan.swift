/// A scan for two bytes at a fixed distance, with a few candidates each, which tests 16 positions at a time.
struct PairScan: Sendable {
  /// The maximum number of candidates for each byte.
  static let maximum = 3

  private typealias Lanes = SIMD16<UInt8>

  private let firstOffset: Int
  private let secondOffset: Int
  private let first: Choice
  /// The second byte's candidates, or `nil` if any byte is accepted.
  private let second: Choice?

  private struct Choice: Sendable {
    let bytes: [UInt8]
    let lanes: (Lanes, Lanes, Lanes)

    init(_ bytes: [UInt8]) {
      func lane(_ index: Int) -> Lanes { Lanes(repeating: bytes[min(index, bytes.count - 1)]) }
      self.bytes = bytes
      lanes = (lane(0), lane(1), lane(2))
    }

    /// Returns lanes with all bits set if they contain a candidate.
    @inline(__always)
    func matches(_ text: Lanes) -> SIMD2<UInt64> {
      let found = (text .== lanes.0) .| (text .== lanes.1) .| (text .== lanes.2)
      return unsafeBitCast(found, to: SIMD2<UInt64>.self)
    }
  }

  /// - Parameters:
  ///   - first: 1 to ``maximum`` bytes.
  ///   - second: 1 to ``maximum`` bytes, or `nil` to accept any byte.
  init(_ first: [UInt8], at firstOffset: Int, and second: [UInt8]?, at secondOffset: Int) {
    self.first = Choice(first)
    self.second = second.map(Choice.init)
    self.firstOffset = firstOffset
    self.secondOffset = secondOffset
  }

  /// Returns the first position at or after `start` with matching bytes at both offsets, or `end` if there isn't one
  /// before it. An offset beyond the text's end matches any byte.
  @inline(__always)
  func next(in text: UnsafeRawBufferPointer, from start: Int, before end: Int) -> Int {
    var place = start
    let last = min(end, text.count - max(firstOffset, secondOffset)) - 16
    while place <= last {
      var found = first.matches(text.loadUnaligned(fromByteOffset: place + firstOffset, as: Lanes.self))
      if let second {
        found &= second.matches(text.loadUnaligned(fromByteOffset: place + secondOffset, as: Lanes.self))
      }
      if found[0] | found[1] != 0 {
        // The lowest byte is the first position.
        let lane =
          found[0] != 0
          ? found[0].littleEndian.trailingZeroBitCount : 64 + found[1].littleEndian.trailingZeroBitCount
        return place + lane / 8
      }
      place += 16
    }
    while place < end {
      if matches(first, at: place + firstOffset, in: text),
        second.map({ matches($0, at: place + secondOffset, in: text) }) != false
      {
        return place
      }
      place += 1
    }
    return end
  }

  private func matches(_ choice: Choice, at place: Int, in text: UnsafeRawBufferPointer) -> Bool {
    place >= text.count || choice.bytes.contains(text[place])
  }
}
