/// An encoding of integers in which the order of the bytes is the order of the numbers.
///
/// No encoding is a prefix of another. Numbers up to 64 take one byte, up to 8 thousand two, up to 1 million three.
/// A negative number is the complement of its counterpart.
enum OrderedInteger {
  private struct Form {
    /// The number of bytes.
    let size: Int
    /// The first byte of the least number.
    let head: UInt8
    /// The number of bits available to the number.
    let bits: Int
  }

  private static let forms = [
    Form(size: 1, head: 0x80, bits: 6),
    Form(size: 2, head: 0xC0, bits: 13),
    Form(size: 3, head: 0xE0, bits: 20),
    Form(size: 4, head: 0xF0, bits: 27),
    Form(size: 5, head: 0xF8, bits: 34),
    Form(size: 7, head: 0xFC, bits: 49),
  ]

  static func bytes(of number: Int) -> [UInt8] {
    if number < 0 {
      return bytes(of: ~number).map { ~$0 }
    }
    guard let form = forms.first(where: { number < 1 << $0.bits }) else {
      preconditionFailure("The number has more than 49 bits.")
    }
    var bytes = (0..<form.size).map { UInt8(truncatingIfNeeded: number >> (8 * (form.size - 1 - $0))) }
    bytes[0] |= form.head
    return bytes
  }

  /// Reads a number and removes its bytes from the slice.
  static func read(from bytes: inout ArraySlice<UInt8>) -> Int {
    guard let first = bytes.first else {
      preconditionFailure("There are no bytes to read.")
    }
    let isNegative = first < 0x80
    let inverted: UInt8 = isNegative ? 0xFF : 0
    guard let form = forms.last(where: { first ^ inverted >= $0.head }) else {
      preconditionFailure("No number begins with this byte.")
    }
    let word = bytes.prefix(form.size).reduce(0) { $0 << 8 | Int($1 ^ inverted) }
    bytes = bytes.dropFirst(form.size)
    let number = word & (1 << form.bits - 1)
    return isNegative ? ~number : number
  }
}
