#if !SwiftCrypto
  internal import CCofferOpenSSL

  extension KeyDerivation {
    /// Fills `memory` with HKDF-SHA-256.
    ///
    /// Don't use KBKDF for XAES, because OpenSSL 3.0 ignores its parameter `r` and silently derives another key.
    static func hkdf(
      _ material: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, info: UnsafeRawBufferPointer,
      into memory: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      var parameters = Parameters()
      parameters.add(OSSL_KDF_PARAM_DIGEST, text: "SHA256")
      parameters.add(OSSL_KDF_PARAM_KEY, bytes: material)
      parameters.add(OSSL_KDF_PARAM_SALT, bytes: salt)
      parameters.add(OSSL_KDF_PARAM_INFO, bytes: info)
      try derive(Algorithms.hkdf, "HKDF", parameters, into: memory)
    }

    /// Fills `memory` with scrypt.
    static func scrypt(
      _ passphrase: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, cost: ScryptCost,
      into memory: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      var parameters = Parameters()
      parameters.add(OSSL_KDF_PARAM_PASSWORD, bytes: passphrase)
      parameters.add(OSSL_KDF_PARAM_SALT, bytes: salt)
      parameters.add(OSSL_KDF_PARAM_SCRYPT_N, number: cost.n)
      parameters.add(OSSL_KDF_PARAM_SCRYPT_R, number: UInt64(cost.r))
      parameters.add(OSSL_KDF_PARAM_SCRYPT_P, number: UInt64(cost.p))
      parameters.add(OSSL_KDF_PARAM_SCRYPT_MAXMEM, number: cost.maximumMemory)
      try derive(Algorithms.scrypt, "scrypt", parameters, into: memory)
    }

    private static func derive(
      _ algorithm: Algorithm, _ name: String, _ parameters: borrowing Parameters,
      into memory: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      guard let context = EVP_KDF_CTX_new(try algorithm.pointer()) else { throw .openSSL("a context of \(name)") }
      defer { EVP_KDF_CTX_free(context) }
      let succeeded = parameters.withList { EVP_KDF_derive(context, memory.bytePointer, memory.count, $0) == 1 }
      guard succeeded else { throw .openSSL(name) }
    }
  }
#endif
