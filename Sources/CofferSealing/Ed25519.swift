internal import CCofferOpenSSL

/// Signatures with Ed25519 (RFC 8032), which prove who published a release.
package enum Ed25519 {
  package static let signatureByteCount = 64

  package static func publicKey(of secret: Secret) throws(SealingError) -> [UInt8] {
    let key = try privateKey(secret)
    defer { EVP_PKEY_free(key) }
    var bytes = [UInt8](repeating: 0, count: 32)
    var count = 32
    guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == 32 else { throw .openSSL("Ed25519") }
    return bytes
  }

  package static func sign(_ message: [UInt8], with secret: Secret) throws(SealingError) -> [UInt8] {
    let key = try privateKey(secret)
    defer { EVP_PKEY_free(key) }
    let context = try digestContext()
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: signatureByteCount)
    var count = signature.count
    guard EVP_DigestSignInit_ex(context, nil, nil, nil, nil, key, nil) == 1,
      EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == signatureByteCount
    else { throw .openSSL("signing with Ed25519") }
    return signature
  }

  /// Returns whether a signature of `message` was made with the private half of `publicKey`.
  ///
  /// Returns `false` for a public key of small order, because one signature would fit many messages.
  package static func isValid(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) throws(SealingError)
    -> Bool
  {
    guard signature.count == signatureByteCount, publicKey.count == 32, !isSmallOrder(publicKey) else { return false }
    try requireOpenSSL()
    guard let key = EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, publicKey, 32) else {
      throw .openSSL("an Ed25519 public key")
    }
    defer { EVP_PKEY_free(key) }
    let context = try digestContext()
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestVerifyInit_ex(context, nil, nil, nil, nil, key, nil) == 1 else { throw .openSSL("Ed25519") }
    // A signature that doesn't fit, or a key that isn't a point, leaves entries in the error queue.
    let isValid = EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    ERR_clear_error()
    return isValid
  }

  /// Returns whether a public key's order divides 8, whatever its sign bit is.
  package static func isSmallOrder(_ publicKey: [UInt8]) -> Bool {
    guard publicKey.count == 32 else { return false }
    var key = publicKey
    key[31] &= 0x7F
    return smallOrder.contains(key)
  }

  /// The y-coordinates of the points whose order divides 8. The coordinates 0 and 1 are also there as the prime
  /// 2^255 - 19 and as one more.
  private static let smallOrder: [[UInt8]] = {
    let zeros = [UInt8](repeating: 0, count: 31)
    let belowEnd = [UInt8](repeating: 0xFF, count: 30) + [0x7F]
    // Order 8.
    let eighths: [[UInt8]] = [
      [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
        0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
      ],
      [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
        0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
      ],
    ]
    return [[0] + zeros, [1] + zeros, [0xEC] + belowEnd, [0xED] + belowEnd, [0xEE] + belowEnd] + eighths
  }()

  private static func digestContext() throws(SealingError) -> OpaquePointer {
    guard let context = EVP_MD_CTX_new() else { throw .openSSL("a signature's context") }
    return context
  }

  private static func privateKey(_ secret: Secret) throws(SealingError) -> OpaquePointer {
    try requireOpenSSL()
    let key = secret.withUnsafeBytes {
      EVP_PKEY_new_raw_private_key_ex(nil, "ED25519", nil, $0.bytePointer, $0.count)
    }
    guard let key else { throw .openSSL("an Ed25519 secret") }
    return key
  }
}
