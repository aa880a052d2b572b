/// Diffie–Hellman on Curve25519 (RFC 7748).
package enum X25519 {
  /// Returns the shared secret of two keys.
  ///
  /// - Throws: `notAuthentic` if the secret consists of zeros, because the public key has a small order.
  package static func sharedSecret(of secret: Secret, with publicKey: [UInt8]) throws(SealingError) -> Secret {
    let shared = try derive(secret, with: publicKey)
    let zero = Secret(byteCount: 32) { $0.count }
    guard !shared.isEqual(to: zero) else { throw .smallOrder }
    return shared
  }

  /// Returns whether a public key has a small order, so it can't be used to derive a secret.
  ///
  /// The highest bit doesn't matter, because X25519 ignores it.
  package static func isSmallOrder(_ publicKey: [UInt8]) -> Bool { smallOrder.contains(publicKey) }

  /// The coordinates of all points whose order divides 8, on the curve and its twist, which a private key turns into
  /// zeros because it's a multiple of 8.
  private static let smallOrder = SmallOrder(eighths: [
    [
      0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
      0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
    ],
    [
      0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
      0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
    ],
  ])
}

extension SealingError {
  static var smallOrder: SealingError {
    SealingError(.notAuthentic, "the X25519 public key is of small order")
  }
}
