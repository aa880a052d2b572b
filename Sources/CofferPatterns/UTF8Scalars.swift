/// Decodes valid UTF-8.
enum UTF8Scalars {
  /// Decodes the scalar at `index` and advances past it.
  @inline(__always)
  static func scalar(_ text: UnsafeRawBufferPointer, _ index: inout Int) -> UInt32 {
    let lead = UInt32(text[index])
    func tail(_ offset: Int) -> UInt32 { UInt32(text[index + offset] & 0x3F) }
    if lead < 0x80 {
      index += 1
      return lead
    } else if lead < 0xE0 {
      defer { index += 2 }
      return (lead & 0x1F) << 6 | tail(1)
    } else if lead < 0xF0 {
      defer { index += 3 }
      return (lead & 0x0F) << 12 | tail(1) << 6 | tail(2)
    } else {
      defer { index += 4 }
      return (lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3)
    }
  }
}
