/// The small-order public keys on a form of Curve25519, whose order divides 8.
struct SmallOrder {
  private let coordinates: [[UInt8]]

  /// Adds the coordinates 0, 1 and -1 to the coordinates of order 8. 0 and 1 are also represented as the prime 2^255 -
  /// 19 and its successor.
  init(eighths: [[UInt8]]) {
    let zeros = [UInt8](repeating: 0, count: 31)
    let belowEnd = [UInt8](repeating: 0xFF, count: 30) + [0x7F]
    coordinates = [[0] + zeros, [1] + zeros, [0xEC] + belowEnd, [0xED] + belowEnd, [0xEE] + belowEnd] + eighths
  }

  /// Returns whether a 32-byte public key has a small order, regardless of its highest bit.
  func contains(_ publicKey: [UInt8]) -> Bool {
    guard publicKey.count == 32 else { return false }
    var key = publicKey
    key[31] &= 0x7F
    return coordinates.contains(key)
  }
}
