#if !SwiftCrypto
  internal import CCofferOpenSSL

  /// The AES-256-CTR key stream from a zero counter block, with OpenSSL. Use it on one thread at a time.
  struct KeyStream: ~Copyable {
    private let context: OpaquePointer
    private let zeros: UnsafeMutableRawBufferPointer

    /// - Parameter byteCount: The length of each stream.
    init(byteCount: Int) throws(SealingError) {
      let cipher = try Algorithms.aes256CTR.pointer()
      guard let context = EVP_CIPHER_CTX_new() else { throw .openSSL("a cipher context") }
      guard EVP_EncryptInit_ex2(context, cipher, nil, nil, nil) == 1 else {
        EVP_CIPHER_CTX_free(context)
        throw .openSSL("AES-256-CTR")
      }
      self.context = context
      zeros = .allocate(byteCount: byteCount, alignment: 16)
      zeros.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
      EVP_CIPHER_CTX_free(context)
      zeros.deallocate()
    }

    /// Writes a key's stream.
    func write(to stream: UnsafeMutableRawBufferPointer, key: SetElement) throws(SealingError) {
      var written: Int32 = 0
      let succeeded = withUnsafeBytes(of: (key.words, UInt64(0), UInt64(0))) { keyAndCounter in
        let key = keyAndCounter.bytePointer!
        return EVP_EncryptInit_ex2(context, nil, key, key + SetElement.byteCount, nil) == 1
          && EVP_EncryptUpdate(
            context, stream.bytePointer, &written, UnsafeRawBufferPointer(zeros).bytePointer, Int32(zeros.count)) == 1
      }
      guard succeeded else { throw .openSSL("AES-256-CTR") }
    }
  }
#endif
