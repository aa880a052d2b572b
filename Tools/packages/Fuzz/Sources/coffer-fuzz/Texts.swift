internal import CofferText

/// UTF-16 of both byte orders: decoding replaces as the standard library does; strict decoding refuses exactly that.
func readUTF16(_ input: [UInt8]) {
  let units = stride(from: 0, to: input.count - 1, by: 2).map { UInt16(input[$0]) | UInt16(input[$0 + 1]) << 8 }
  let expected = [UInt8](String(decoding: units, as: UTF16.self).utf8)
  let isSound = String(validating: units, as: UTF16.self) != nil
  for encoding in [TextEncoding.utf16LittleEndian, .utf16BigEndian] {
    let isBigEndian = encoding == .utf16BigEndian
    // A byte order mark, so that the decoder does not read the first unit as one.
    let bytes = ([0xFEFF] + units).flatMap { unit in
      let low = UInt8(truncatingIfNeeded: unit)
      let high = UInt8(truncatingIfNeeded: unit >> 8)
      return isBigEndian ? [high, low] : [low, high]
    }
    let replaced = try? TextDecoder.utf8(from: bytes, in: .fixed(encoding), onError: .replace)
    precondition(replaced == expected, "text that is not the standard library's")
    let strict = try? TextDecoder.utf8(from: bytes, in: .fixed(encoding))
    precondition(strict == (isSound ? expected : nil), "strict reading that does not agree with replacing")
  }
}
