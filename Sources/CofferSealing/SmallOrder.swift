/// The public keys of small order on a form of Curve25519, whose order divides 8.
struct SmallOrder {
  private let coordinates: [[UInt8]]

  /// Adds the coordinates 0, 1 and -1 to those of order 8. The first two are also there as the prime 2^255 - 19 and as
  /// one more.
  init(eighths: [[UInt8]]) {
    let zeros = [UInt8](repeating: 0, count: 31)
    let belowEnd = [UInt8](repeating: 0xFF, count: 30) + [0x7F]
    coordinates = [[0] + zeros, [1] + zeros, [0xEC] + belowEnd, [0xED] + belowEnd, [0xEE] + belowEnd] + eighths
  }

  /// Whether a public key of 32 bytes is one of them, whatever its highest bit is.
  func contains(_ publicKey: [UInt8]) -> Bool {
    guard publicKey.count == 32 else { return false }
    var key = publicKey
    key[31] &= 0x7F
    return coordinates.contains(key)
  }
}
