/// A single-byte encoding whose lower half is ASCII.
struct CodePage: Sendable {
  /// The code points of the bytes from 0x80, with 0 for undefined bytes.
  let upperHalf: [UInt16]

  /// Returns whether the page defines all of these bytes.
  func decodes(_ bytes: some Sequence<UInt8>) -> Bool {
    bytes.allSatisfy { $0 < 0x80 || upperHalf[Int($0) - 0x80] != 0 }
  }

  /// A table with each byte's UTF-8 in the lower three bytes, in ascending order, and its length in the highest byte,
  /// or 0 for an undefined byte.
  var decodingTable: [UInt32] {
    var table = (0..<128).map { UInt32($0) | 1 << 24 }
    for codePoint in upperHalf {
      let scalar = UInt32(codePoint)
      let two = scalar >> 6 | scalar << 8 & 0x3F00 | 0x80C0
      let three = scalar >> 12 | scalar << 2 & 0x3F00 | scalar << 16 & 0x3F_0000 | 0x8080E0
      table.append(scalar == 0 ? 0 : scalar < 0x800 ? two | 2 << 24 : three | 3 << 24)
    }
    return table
  }

  /// A table with the byte for each code point in the basic plane, or 0 if there isn't one (except for U+0000).
  var encodingTable: [UInt8] {
    var table = [UInt8](repeating: 0, count: 0x10000)
    for byte in 0..<128 {
      table[byte] = UInt8(byte)
    }
    for (index, codePoint) in upperHalf.enumerated() where codePoint != 0 {
      table[Int(codePoint)] = UInt8(128 + index)
    }
    return table
  }
}
