/// The frame around every sealed text, name and head (FORMAT, "Frames"): codec, length, data, zeros.
///
/// Padding hides the exact length. It adds at most 12% by the PADMÉ rule.
package enum Frame {
  /// The size of the codec and length: `u8 || u56`.
  package static let headerCount = 8
  /// The minimum padded length of a body, a name, and a head in the modes clear and none.
  package static let standardMinimum = 64
  /// The minimum padded length of a head in the mode sealed, with or without a title.
  package static let sealedTitleMinimum = 128

  /// Returns the length of the entire frame around `count` bytes.
  package static func byteCount(around count: Int, minimum: Int, isPadded: Bool) -> Int {
    let bare = headerCount + count
    return isPadded ? max(minimum, padme(bare)) : bare
  }

  /// Returns L rounded up by PADMÉ, so only its first log2(log2 L) + 1 bits can be nonzero.
  package static func padme(_ length: Int) -> Int {
    guard length >= 2 else { return length }
    let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
    let kept = Int.bitWidth - 1 - exponent.leadingZeroBitCount + 1
    let mask = exponent > kept ? (1 << (exponent - kept)) - 1 : 0
    return (length + mask) & ~mask
  }

  /// Writes the frame's eight header bytes, with codec 0 and `count`.
  package static func writeHeader(_ count: Int, to frame: UnsafeMutableRawBufferPointer) {
    frame.storeBytes(of: UInt64(count).bigEndian, as: UInt64.self)
  }

  /// Returns the entire frame around the data.
  package static func around(_ data: [UInt8], minimum: Int, isPadded: Bool) -> [UInt8] {
    var builder = ByteBuilder()
    builder.append(UInt64(data.count))
    builder.append(bytes: data)
    let total = byteCount(around: data.count, minimum: minimum, isPadded: isPadded)
    return builder.bytes + [UInt8](repeating: 0, count: total - builder.bytes.count)
  }

  /// Returns the data's range in an opened frame.
  ///
  /// - Throws: `malformed` for a codec, length or padding that writers don't produce.
  package static func dataRange(
    of frame: UnsafeRawBufferPointer, minimum: Int, orMinimum other: Int? = nil, isPadded: Bool
  ) throws(SealingError) -> Range<Int> {
    guard frame.count >= headerCount else { throw malformed("too few bytes") }
    let word = UInt64(bigEndian: frame.loadUnaligned(as: UInt64.self))
    guard word >> 56 == 0 else { throw malformed("an unknown codec") }
    guard word <= UInt64(frame.count - headerCount) else { throw malformed("a length beyond its end") }
    let count = Int(word)
    let fits =
      frame.count == byteCount(around: count, minimum: minimum, isPadded: isPadded)
      || other.map { frame.count == byteCount(around: count, minimum: $0, isPadded: isPadded) } ?? false
    guard fits else { throw malformed("another padding") }
    var index = headerCount + count
    while index < frame.count, index % 8 != 0 {
      guard frame[index] == 0 else { throw malformed("padding other than zeros") }
      index += 1
    }
    while index + 8 <= frame.count {
      guard frame.loadUnaligned(fromByteOffset: index, as: UInt64.self) == 0 else {
        throw malformed("padding other than zeros")
      }
      index += 8
    }
    while index < frame.count {
      guard frame[index] == 0 else { throw malformed("padding other than zeros") }
      index += 1
    }
    return headerCount..<headerCount + count
  }

  private static func malformed(_ what: String) -> SealingError {
    SealingError(.malformed, "a sealed frame has \(what)")
  }
}
