#if !SwiftCrypto
  internal import CCofferOpenSSL
  internal import CofferPlatform

  /// AES-256-GCM with OpenSSL, whose contexts are kept between calls.
  struct GCMContext: ~Copyable {
    // Each context is created on first use, because most ciphers only seal or only open.
    private var sealingContext: OpaquePointer?
    private var openingContext: OpaquePointer?
    /// The tag parameter for OpenSSL, followed by the end of the list. Each call sets its address.
    private let tagParameter: UnsafeMutablePointer<OSSL_PARAM>
    /// The name that the parameter refers to.
    private let tagName = strdup(OSSL_CIPHER_PARAM_AEAD_TAG)

    init() {
      tagParameter = .allocate(capacity: 2)
      tagParameter.initialize(to: OSSL_PARAM_construct_octet_string(tagName, nil, AES256GCM.tagCount))
      (tagParameter + 1).initialize(to: OSSL_PARAM_construct_end())
    }

    deinit {
      EVP_CIPHER_CTX_free(sealingContext)
      EVP_CIPHER_CTX_free(openingContext)
      tagParameter.deallocate()
      free(tagName)
    }

    /// Seals between buffers with matching sizes. If the key is `nil`, the previous call's key is used.
    mutating func seal(
      _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
      key: UnsafeRawBufferPointer?, nonce: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer,
      tag: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      let sealing = if let sealingContext { sealingContext } else { try makeContext(isSealing: true) }
      tagParameter.pointee.data = tag.baseAddress
      tagParameter.pointee.return_size = 0
      var written: Int32 = 0
      let succeeded =
        EVP_EncryptInit_ex2(sealing, nil, key?.bytePointer, nonce.bytePointer, nil) == 1
        && (additional.isEmpty
          || EVP_EncryptUpdate(sealing, nil, &written, additional.bytePointer, Int32(additional.count)) == 1)
        && (plaintext.isEmpty
          || EVP_EncryptUpdate(
            sealing, ciphertext.bytePointer, &written, plaintext.bytePointer, Int32(plaintext.count)) == 1)
        // GCM doesn't write anything at the end, but requires an address.
        && EVP_EncryptFinal_ex(sealing, tag.bytePointer, &written) == 1
        && EVP_CIPHER_CTX_get_params(sealing, tagParameter) == 1
        && tagParameter.pointee.return_size == AES256GCM.tagCount
      guard succeeded else { throw .openSSL("sealing") }
    }

    /// Opens between buffers with matching sizes. If the key is `nil`, the previous call's key is used.
    ///
    /// - Throws: `notAuthentic` for a wrong tag. After any error, `plaintext` may contain unauthenticated data.
    mutating func open(
      _ ciphertext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
      key: UnsafeRawBufferPointer?, nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer,
      plaintext: UnsafeMutableRawBufferPointer
    ) throws(SealingError) {
      let opening = if let openingContext { openingContext } else { try makeContext(isSealing: false) }
      // OpenSSL only reads the tag.
      tagParameter.pointee.data = UnsafeMutableRawPointer(mutating: tag.baseAddress)
      var written: Int32 = 0
      let succeeded =
        EVP_DecryptInit_ex2(opening, nil, key?.bytePointer, nonce.bytePointer, tagParameter) == 1
        && (additional.isEmpty
          || EVP_DecryptUpdate(opening, nil, &written, additional.bytePointer, Int32(additional.count)) == 1)
        && (ciphertext.isEmpty
          || EVP_DecryptUpdate(
            opening, plaintext.bytePointer, &written, ciphertext.bytePointer, Int32(ciphertext.count)) == 1)
      guard succeeded else { throw .openSSL("opening") }
      var last: UInt8 = 0
      guard EVP_DecryptFinal_ex(opening, &last, &written) == 1 else {
        ERR_clear_error()
        throw SealingError(.notAuthentic, "not authentic")
      }
    }

    private mutating func makeContext(isSealing: Bool) throws(SealingError) -> OpaquePointer {
      let cipher = try Algorithms.aes256GCM.pointer()
      guard let made = EVP_CIPHER_CTX_new() else { throw .openSSL("a cipher context") }
      guard EVP_CipherInit_ex2(made, cipher, nil, nil, isSealing ? 1 : 0, nil) == 1 else {
        EVP_CIPHER_CTX_free(made)
        throw .openSSL("setting up AES-256-GCM")
      }
      if isSealing { sealingContext = made } else { openingContext = made }
      return made
    }
  }
#endif
