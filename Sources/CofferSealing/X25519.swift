internal import CCofferOpenSSL

/// Diffie–Hellman on Curve25519 (RFC 7748).
package enum X25519 {
  package static func publicKey(of secret: Secret) throws(SealingError) -> [UInt8] {
    let key = try privateKey(secret)
    defer { EVP_PKEY_free(key) }
    var bytes = [UInt8](repeating: 0, count: 32)
    var count = 32
    guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == 32 else { throw .openSSL("X25519") }
    return bytes
  }

  /// The shared secret of both; aborts where it is all zero (a public key of small order).
  package static func sharedSecret(of secret: Secret, with publicKey: [UInt8]) throws(SealingError) -> Secret {
    let mine = try privateKey(secret)
    defer { EVP_PKEY_free(mine) }
    guard publicKey.count == 32, let theirs = EVP_PKEY_new_raw_public_key_ex(nil, "X25519", nil, publicKey, 32) else {
      throw .openSSL("an X25519 public key")
    }
    defer { EVP_PKEY_free(theirs) }
    guard let context = EVP_PKEY_CTX_new_from_pkey(nil, mine, nil) else { throw .openSSL("X25519") }
    defer { EVP_PKEY_CTX_free(context) }
    ERR_clear_error()
    var succeeded = false
    let shared = Secret(byteCount: 32) { memory in
      var count = memory.count
      succeeded =
        EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, theirs) == 1
        && EVP_PKEY_derive(context, memory.bytePointer, &count) == 1 && count == 32
      return memory.count
    }
    let zero = Secret(byteCount: 32) { $0.count }
    guard succeeded, !shared.isEqual(to: zero) else {
      // OpenSSL finds the zeros itself, and says so; short of memory, it says that or nothing.
      let reason = ERR_GET_REASON(ERR_peek_last_error())
      guard succeeded || reason == PROV_R_FAILED_DURING_DERIVATION else { throw .openSSL("X25519") }
      ERR_clear_error()
      throw SealingError(.notAuthentic, "the X25519 public key is of small order")
    }
    return shared
  }

  /// Returns whether a public key is of small order, so that nobody can derive a secret from it.
  package static func isSmallOrder(_ publicKey: [UInt8]) -> Bool {
    guard publicKey.count == 32 else { return false }
    var key = publicKey
    // X25519 ignores the highest bit.
    key[31] &= 0x7F
    return smallOrder.contains(key)
  }

  /// The coordinates of all points whose order divides 8, on the curve and its twist, which a private key turns into
  /// zeros because it's a multiple of 8. The coordinates 0 and 1 are also there as the prime 2^255 - 19 and as one more.
  private static let smallOrder: [[UInt8]] = {
    let zeros = [UInt8](repeating: 0, count: 31)
    let belowEnd = [UInt8](repeating: 0xFF, count: 30) + [0x7F]
    // Order 8.
    let eighths: [[UInt8]] = [
      [
        0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
        0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
      ],
      [
        0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
        0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
      ],
    ]
    return [[0] + zeros, [1] + zeros, [0xEC] + belowEnd, [0xED] + belowEnd, [0xEE] + belowEnd] + eighths
  }()

  private static func privateKey(_ secret: Secret) throws(SealingError) -> OpaquePointer {
    try requireOpenSSL()
    let key = secret.withUnsafeBytes {
      EVP_PKEY_new_raw_private_key_ex(nil, "X25519", nil, $0.bytePointer, $0.count)
    }
    guard let key else { throw .openSSL("an X25519 secret") }
    return key
  }
}
