internal import CCofferOpenSSL
internal import CofferPlatform

/// AES-256-GCM (NIST SP 800-38D) with nonces of 96 bits and tags of 128, its contexts kept from call to call.
///
/// Belongs to one thread at a time. The caller answers for nonces: ``XAESKey`` derives keys from them, and
/// ``WrappingCipher`` uses each key once. Nothing else seals with it.
package final class AES256GCM {
  package static let keyCount = 32
  package static let nonceCount = 12
  package static let tagCount = 16

  // Each is made at its first use: most ciphers only seal or only open.
  @exclusivity(unchecked) private var sealingContext: OpaquePointer?
  @exclusivity(unchecked) private var openingContext: OpaquePointer?
  /// The tag as OpenSSL takes and gives it, with the end of the list behind it; its address is set for each call.
  private let tagParameter: UnsafeMutablePointer<OSSL_PARAM>
  /// The parameter refers to its name.
  private let tagName = strdup(OSSL_CIPHER_PARAM_AEAD_TAG)

  package init() {
    tagParameter = .allocate(capacity: 2)
    tagParameter.initialize(to: OSSL_PARAM_construct_octet_string(tagName, nil, Self.tagCount))
    (tagParameter + 1).initialize(to: OSSL_PARAM_construct_end())
  }

  deinit {
    EVP_CIPHER_CTX_free(sealingContext)
    EVP_CIPHER_CTX_free(openingContext)
    tagParameter.deallocate()
    free(tagName)
  }

  /// Seals `plaintext` into `ciphertext` (as long) and `tag`.
  ///
  /// - Parameter key: nil for the key of the previous call, whose schedule is kept.
  package func seal(
    _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    key: UnsafeRawBufferPointer?, nonce: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer,
    tag: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    Self.check(key, nonce, tagCount: tag.count, from: plaintext.count, to: ciphertext.count)
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
      // GCM writes nothing at the end, but requires an address.
      && EVP_EncryptFinal_ex(sealing, tag.bytePointer, &written) == 1
      && EVP_CIPHER_CTX_get_params(sealing, tagParameter) == 1 && tagParameter.pointee.return_size == Self.tagCount
    guard succeeded else { throw .openSSL("sealing") }
  }

  /// Opens a ciphertext of `seal` into `plaintext`, which has the same length.
  ///
  /// - Parameter key: nil for the key of the previous call, whose schedule is kept.
  /// - Throws: `notAuthentic` for a wrong tag. After any error, `plaintext` has been wiped.
  package func open(
    _ ciphertext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    key: UnsafeRawBufferPointer?, nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer,
    plaintext: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    Self.check(key, nonce, tagCount: tag.count, from: ciphertext.count, to: plaintext.count)
    let opening = if let openingContext { openingContext } else { try makeContext(isSealing: false) }
    // OpenSSL only reads it.
    tagParameter.pointee.data = UnsafeMutableRawPointer(mutating: tag.baseAddress)
    var written: Int32 = 0
    let succeeded =
      EVP_DecryptInit_ex2(opening, nil, key?.bytePointer, nonce.bytePointer, tagParameter) == 1
      && (additional.isEmpty
        || EVP_DecryptUpdate(opening, nil, &written, additional.bytePointer, Int32(additional.count)) == 1)
      && (ciphertext.isEmpty
        || EVP_DecryptUpdate(
          opening, plaintext.bytePointer, &written, ciphertext.bytePointer, Int32(ciphertext.count)) == 1)
    var last: UInt8 = 0
    if succeeded, EVP_DecryptFinal_ex(opening, &last, &written) == 1 { return }
    if !plaintext.isEmpty { OPENSSL_cleanse(plaintext.baseAddress, plaintext.count) }
    guard succeeded else { throw .openSSL("opening") }
    ERR_clear_error()
    throw SealingError(.notAuthentic, "not authentic")
  }

  private func makeContext(isSealing: Bool) throws(SealingError) -> OpaquePointer {
    let cipher = try Algorithms.aes256GCM.pointer()
    guard let made = EVP_CIPHER_CTX_new() else { throw .openSSL("a cipher context") }
    guard EVP_CipherInit_ex2(made, cipher, nil, nil, isSealing ? 1 : 0, nil) == 1 else {
      EVP_CIPHER_CTX_free(made)
      throw .openSSL("setting up AES-256-GCM")
    }
    if isSealing { sealingContext = made } else { openingContext = made }
    return made
  }

  @inline(__always)
  private static func check(
    _ key: UnsafeRawBufferPointer?, _ nonce: UnsafeRawBufferPointer, tagCount: Int, from source: Int, to target: Int
  ) {
    precondition(
      (key?.count ?? Self.keyCount) == Self.keyCount && nonce.count == Self.nonceCount && tagCount == Self.tagCount
        && source == target,
      "internal error: AES-256-GCM between buffers of other sizes")
  }
}
