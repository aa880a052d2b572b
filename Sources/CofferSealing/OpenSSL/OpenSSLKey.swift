#if !SwiftCrypto
  internal import CCofferOpenSSL

  /// An X25519 or Ed25519 key.
  struct OpenSSLKey: ~Copyable {
    let pointer: OpaquePointer
    private let algorithm: String

    /// - Parameter algorithm: OpenSSL's name, `X25519` or `ED25519`.
    init(_ algorithm: String, secret: Secret) throws(SealingError) {
      try requireOpenSSL()
      let key = secret.withUnsafeBytes {
        EVP_PKEY_new_raw_private_key_ex(nil, algorithm, nil, $0.bytePointer, $0.count)
      }
      guard let key else { throw .openSSL("a secret of \(algorithm)") }
      (pointer, self.algorithm) = (key, algorithm)
    }

    /// - Parameter algorithm: OpenSSL's name, `X25519` or `ED25519`.
    init(_ algorithm: String, publicKey: [UInt8]) throws(SealingError) {
      try requireOpenSSL()
      guard let key = EVP_PKEY_new_raw_public_key_ex(nil, algorithm, nil, publicKey, publicKey.count) else {
        throw .openSSL("a public key of \(algorithm)")
      }
      (pointer, self.algorithm) = (key, algorithm)
    }

    deinit {
      EVP_PKEY_free(pointer)
    }

    func publicBytes() throws(SealingError) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: 32)
      var count = 32
      guard EVP_PKEY_get_raw_public_key(pointer, &bytes, &count) == 1, count == 32 else { throw .openSSL(algorithm) }
      return bytes
    }
  }
#endif
