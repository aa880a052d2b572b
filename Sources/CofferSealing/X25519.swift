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
  package static func isSmallOrder(_ publicKey: [UInt8]) throws(SealingError) -> Bool {
    do throws(SealingError) {
      // A private key is a multiple of 8, so it turns each such point into zeros.
      _ = try sharedSecret(of: .random(byteCount: 32), with: publicKey)
      return false
    } catch {
      guard error.code == .notAuthentic else { throw error }
      return true
    }
  }

  private static func privateKey(_ secret: Secret) throws(SealingError) -> OpaquePointer {
    try requireOpenSSL()
    let key = secret.withUnsafeBytes {
      EVP_PKEY_new_raw_private_key_ex(nil, "X25519", nil, $0.bytePointer, $0.count)
    }
    guard let key else { throw .openSSL("an X25519 secret") }
    return key
  }
}
