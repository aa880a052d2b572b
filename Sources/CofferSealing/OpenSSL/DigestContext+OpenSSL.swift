#if !SwiftCrypto
  internal import CCofferOpenSSL

  /// SHA-256 with OpenSSL. Use it on one thread at a time.
  struct DigestContext: ~Copyable {
    private let context: OpaquePointer

    init() throws(SealingError) {
      let algorithm = try Algorithms.sha256.pointer()
      guard let context = EVP_MD_CTX_new() else { throw .openSSL("a digest context") }
      guard EVP_DigestInit_ex2(context, algorithm, nil) == 1 else {
        EVP_MD_CTX_free(context)
        throw .openSSL("SHA-256")
      }
      self.context = context
    }

    deinit {
      EVP_MD_CTX_free(context)
    }

    func begin() throws(SealingError) {
      guard EVP_DigestInit_ex2(context, nil, nil) == 1 else { throw .openSSL("SHA-256") }
    }

    func update(_ bytes: UnsafeRawBufferPointer) throws(SealingError) {
      guard bytes.isEmpty || EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else {
        throw .openSSL("SHA-256")
      }
    }

    /// Writes the digest (32 bytes) of the bytes since `begin`.
    func finish(into digest: UnsafeMutableRawBufferPointer) throws(SealingError) {
      guard EVP_DigestFinal_ex(context, digest.bytePointer, nil) == 1 else { throw .openSSL("SHA-256") }
    }

    /// Writes the digest (32 bytes) of `bytes`.
    static func digest(of bytes: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer)
      throws(SealingError)
    {
      let algorithm = try Algorithms.sha256.pointer()
      guard EVP_Digest(bytes.baseAddress, bytes.count, digest.bytePointer, nil, algorithm, nil) == 1 else {
        throw .openSSL("SHA-256")
      }
    }
  }
#endif
