#if !SwiftCrypto
  internal import CCofferOpenSSL

  extension Ed25519 {
    package static func publicKey(of secret: Secret) throws(SealingError) -> [UInt8] {
      let key = try OpenSSLKey("ED25519", secret: secret)
      return try key.publicBytes()
    }

    package static func sign(_ message: [UInt8], with secret: Secret) throws(SealingError) -> [UInt8] {
      let key = try OpenSSLKey("ED25519", secret: secret)
      let context = try digestContext()
      defer { EVP_MD_CTX_free(context) }
      var signature = [UInt8](repeating: 0, count: signatureByteCount)
      var count = signature.count
      guard EVP_DigestSignInit_ex(context, nil, nil, nil, nil, key.pointer, nil) == 1,
        EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == signatureByteCount
      else { throw .openSSL("signing with Ed25519") }
      return signature
    }

    /// Returns whether the signature (64 bytes) matches the public key (32 bytes).
    static func verify(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) throws(SealingError) -> Bool {
      let key = try OpenSSLKey("ED25519", publicKey: publicKey)
      let context = try digestContext()
      defer { EVP_MD_CTX_free(context) }
      guard EVP_DigestVerifyInit_ex(context, nil, nil, nil, nil, key.pointer, nil) == 1 else {
        throw .openSSL("Ed25519")
      }
      // An invalid signature, or a key that isn't a point, leaves entries in the error queue.
      let isValid = EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
      ERR_clear_error()
      return isValid
    }

    private static func digestContext() throws(SealingError) -> OpaquePointer {
      guard let context = EVP_MD_CTX_new() else { throw .openSSL("a signature's context") }
      return context
    }
  }
#endif
