#if !SwiftCrypto
  internal import CCofferOpenSSL

  /// An HMAC-SHA-256 key in OpenSSL, which is reused for all messages. Use it on one thread at a time.
  struct CodeContext: ~Copyable {
    private let context: OpaquePointer

    init(_ key: Secret) throws(SealingError) {
      guard let context = EVP_MAC_CTX_new(try Algorithms.hmac.pointer()) else { throw .openSSL("an HMAC context") }
      var parameters = Parameters()
      parameters.add(OSSL_MAC_PARAM_DIGEST, text: "SHA256")
      let succeeded = parameters.withList { list in
        key.withUnsafeBytes { EVP_MAC_init(context, $0.bytePointer, $0.count, list) == 1 }
      }
      guard succeeded else {
        EVP_MAC_CTX_free(context)
        throw .openSSL("keying HMAC")
      }
      self.context = context
    }

    deinit {
      EVP_MAC_CTX_free(context)
    }

    /// Writes the message's code (32 bytes).
    func authenticate(_ message: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer) throws(SealingError)
    {
      var written = 0
      guard EVP_MAC_init(context, nil, 0, nil) == 1,
        message.isEmpty || EVP_MAC_update(context, message.bytePointer, message.count) == 1,
        EVP_MAC_final(context, code.bytePointer, &written, code.count) == 1, written == HMACKey.byteCount
      else { throw .openSSL("HMAC") }
    }
  }
#endif
