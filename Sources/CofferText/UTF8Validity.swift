/// Validates text in memory as strict UTF-8 (Unicode, table 3-7), for all modules.
package enum UTF8Validity {
  package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let end = endOfASCII(bytes)
    return end == bytes.count || UTF8Validator.isValid(UnsafeRawBufferPointer(rebasing: bytes[end...]))
  }

  /// Returns the offset of the first byte beyond ASCII, or the end. Most titles don't need further validation.
  @inline(__always)
  private static func endOfASCII(_ bytes: UnsafeRawBufferPointer) -> Int {
    var index = 0
    func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: index + offset, as: UInt64.self) }
    while index + 32 <= bytes.count, (word(0) | word(8) | word(16) | word(24)) & 0x8080_8080_8080_8080 == 0 {
      index += 32
    }
    while index + 8 <= bytes.count, word(0) & 0x8080_8080_8080_8080 == 0 { index += 8 }
    while index < bytes.count, bytes[index] < 0x80 { index += 1 }
    return index
  }
}
