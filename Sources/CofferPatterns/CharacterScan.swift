/// A scan that finds the positions at which a folded text may begin, 16 positions at a time. It's fast if most bytes
/// are ASCII.
struct CharacterScan: Sendable {
  private typealias Lanes = SIMD16<Int8>

  /// An ASCII byte in both cases, which are equal for bytes other than letters.
  private struct Choice: Sendable {
    let lower: Int8
    let upper: Int8
    // Compare lanes with lanes, because comparing them with a single number is many times slower.
    let lowers: Lanes
    let uppers: Lanes

    /// - Returns: `nil` for a scalar beyond ASCII.
    init?(_ scalar: UInt32, ignoringCase: Bool) {
      guard scalar < 0x80 else { return nil }
      lower = Int8(scalar)
      let isLetter = (UInt32(UInt8(ascii: "a"))...UInt32(UInt8(ascii: "z"))).contains(scalar)
      upper = ignoringCase && isLetter ? lower & ~0x20 : lower
      (lowers, uppers) = (Lanes(repeating: lower), Lanes(repeating: upper))
    }

    @inline(__always)
    func matches(_ text: Lanes) -> SIMDMask<Lanes> { (text .== lowers) .| (text .== uppers) }

    @inline(__always)
    func matches(_ byte: Int8) -> Bool { byte == lower || byte == upper }
  }

  /// The first byte, or `nil` if matches don't begin with an ASCII byte.
  private let first: Choice?
  /// The second byte, or `nil` if it isn't ASCII.
  private let second: Choice?
  private let hasSecond: Bool

  /// - Parameter scalars: The folded text.
  init(for scalars: [UInt32], ignoringCase: Bool) {
    first = Choice(scalars[0], ignoringCase: ignoringCase)
    hasSecond = scalars.count > 1
    second = hasSecond ? Choice(scalars[1], ignoringCase: ignoringCase) : nil
  }

  /// Returns the first position at or after `start` at which a match may begin, or the number of bytes if there isn't
  /// one. The byte there is beyond ASCII, or matches together with the next byte, which may begin a mark.
  func next(in text: UnsafeRawBufferPointer, from start: Int) -> Int {
    var place = start
    while place < text.count - 16 {
      let lanes = text.loadUnaligned(fromByteOffset: place, as: Lanes.self)
      var found = lanes .< Lanes.zero
      if let first {
        let fits = first.matches(lanes)
        if hasSecond {
          let after = text.loadUnaligned(fromByteOffset: place + 1, as: Lanes.self)
          let high = after .< Lanes.zero
          found = found .| (fits .& (second.map { high .| $0.matches(after) } ?? high))
        } else {
          found = found .| fits
        }
      }
      let bits = unsafeBitCast(found, to: SIMD2<UInt64>.self)
      if bits[0] | bits[1] != 0 {
        // The lowest byte is the first position.
        let lane =
          bits[0] != 0 ? bits[0].littleEndian.trailingZeroBitCount : 64 + bits[1].littleEndian.trailingZeroBitCount
        return place + lane / 8
      }
      place += 16
    }
    while place < text.count, !fits(text, place) { place += 1 }
    return place
  }

  private func fits(_ text: UnsafeRawBufferPointer, _ place: Int) -> Bool {
    let byte = Int8(bitPattern: text[place])
    guard byte >= 0 else { return true }
    guard let first, first.matches(byte) else { return false }
    guard hasSecond else { return true }
    guard place + 1 < text.count else { return false }
    let after = Int8(bitPattern: text[place + 1])
    return after < 0 || second?.matches(after) == true
  }
}
