#if !SwiftCrypto
  internal import CCofferOpenSSL

  /// AES-256 on single blocks with OpenSSL. Use it on one thread at a time.
  struct BlockCipher: ~Copyable {
    private let context: OpaquePointer

    init(_ key: Secret) throws(SealingError) {
      let cipher = try Algorithms.aes256ECB.pointer()
      guard let context = EVP_CIPHER_CTX_new() else { throw .openSSL("a cipher context") }
      let succeeded = key.withUnsafeBytes { bytes in
        EVP_EncryptInit_ex2(context, cipher, bytes.bytePointer, nil, nil) == 1
          && EVP_CIPHER_CTX_set_padding(context, 0) == 1
      }
      guard succeeded else {
        EVP_CIPHER_CTX_free(context)
        throw .openSSL("keying AES-256")
      }
      self.context = context
    }

    deinit {
      EVP_CIPHER_CTX_free(context)
    }

    /// Encrypts each 16-byte block separately.
    func encrypt(_ blocks: UnsafePointer<UInt8>, blockCount: Int, into output: UnsafeMutablePointer<UInt8>)
      throws(SealingError)
    {
      var written: Int32 = 0
      guard EVP_EncryptUpdate(context, output, &written, blocks, Int32(16 * blockCount)) == 1 else {
        throw .openSSL("AES-256")
      }
    }
  }
#endif
