#if !SwiftCrypto
  internal import CCofferOpenSSL

  extension X25519 {
    package static func publicKey(of secret: Secret) throws(SealingError) -> [UInt8] {
      let key = try OpenSSLKey("X25519", secret: secret)
      return try key.publicBytes()
    }

    /// - Throws: `notAuthentic` if OpenSSL detects zeros. `systemFailure`, including for a public key with another
    ///   length.
    static func derive(_ secret: Secret, with publicKey: [UInt8]) throws(SealingError) -> Secret {
      let mine = try OpenSSLKey("X25519", secret: secret)
      let theirs = try OpenSSLKey("X25519", publicKey: publicKey)
      guard let context = EVP_PKEY_CTX_new_from_pkey(nil, mine.pointer, nil) else { throw .openSSL("X25519") }
      defer { EVP_PKEY_CTX_free(context) }
      ERR_clear_error()
      return try Secret(byteCount: 32) { memory throws(SealingError) in
        var count = memory.count
        let succeeded =
          EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, theirs.pointer) == 1
          && EVP_PKEY_derive(context, memory.bytePointer, &count) == 1 && count == 32
        guard succeeded else {
          // OpenSSL detects zeros itself, and reports this reason. If memory is short, it reports the same reason or
          // none.
          guard ERR_GET_REASON(ERR_peek_last_error()) == PROV_R_FAILED_DURING_DERIVATION else {
            throw .openSSL("X25519")
          }
          ERR_clear_error()
          throw .smallOrder
        }
        return count
      }
    }
  }
#endif
