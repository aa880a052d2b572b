/// Signatures with Ed25519 (RFC 8032), which prove who published a release.
package enum Ed25519 {
  package static let signatureByteCount = 64

  /// Returns whether a signature of `message` was made with the private key for `publicKey`.
  ///
  /// Returns `false` for a small-order public key, because one signature would be valid for many messages.
  package static func isValid(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) throws(SealingError)
    -> Bool
  {
    guard signature.count == signatureByteCount, publicKey.count == 32, !isSmallOrder(publicKey) else { return false }
    return try verify(signature, of: message, by: publicKey)
  }

  /// Returns whether a public key's order divides 8, regardless of its sign bit.
  package static func isSmallOrder(_ publicKey: [UInt8]) -> Bool { smallOrder.contains(publicKey) }

  private static let smallOrder = SmallOrder(eighths: [
    [
      0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
      0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
      0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
      0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
  ])
}
