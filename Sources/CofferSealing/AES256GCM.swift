internal import CCofferOpenSSL

/// AES-256-GCM (NIST SP 800-38D) with nonces of 96 bits and tags of 128, its two contexts kept from call to call.
///
/// Belongs to one thread at a time. The caller answers for nonces: ``XAESKey`` derives a key for each, and
/// ``WrappingCipher`` uses each key once. Nothing else seals with it.
package final class AES256GCM {
  package static let keyCount = 32
  package static let nonceCount = 12
  package static let tagCount = 16

  private let sealing: OpaquePointer
  private let opening: OpaquePointer

  package init() throws(SealingError) {
    guard let sealing = EVP_CIPHER_CTX_new() else { throw .openSSL("a cipher context") }
    guard let opening = EVP_CIPHER_CTX_new() else {
      EVP_CIPHER_CTX_free(sealing)
      throw .openSSL("a cipher context")
    }
    self.sealing = sealing
    self.opening = opening
    guard EVP_EncryptInit_ex2(sealing, Algorithms.aes256GCM, nil, nil, nil) == 1,
      EVP_DecryptInit_ex2(opening, Algorithms.aes256GCM, nil, nil, nil) == 1
    else { throw .openSSL("setting up AES-256-GCM") }
  }

  deinit {
    EVP_CIPHER_CTX_free(sealing)
    EVP_CIPHER_CTX_free(opening)
  }

  /// Seals `plaintext` into `ciphertext` (as long) and `tag`.
  package func seal(
    _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    key: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer,
    tag: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    Self.check(key, nonce, tagCount: tag.count, from: plaintext.count, to: ciphertext.count)
    var written: Int32 = 0
    let succeeded =
      EVP_EncryptInit_ex2(sealing, nil, key.bytePointer, nonce.bytePointer, nil) == 1
      && (additional.isEmpty
        || EVP_EncryptUpdate(sealing, nil, &written, additional.bytePointer, Int32(additional.count)) == 1)
      && (plaintext.isEmpty
        || EVP_EncryptUpdate(
          sealing, ciphertext.bytePointer, &written, plaintext.bytePointer, Int32(plaintext.count)) == 1)
      // GCM writes nothing at the end, but asks for an address.
      && EVP_EncryptFinal_ex(sealing, tag.bytePointer, &written) == 1
      && EVP_CIPHER_CTX_ctrl(sealing, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagCount), tag.baseAddress) == 1
    guard succeeded else { throw .openSSL("sealing") }
  }

  /// Opens what `seal` made into `plaintext` (as long as the ciphertext).
  ///
  /// - Throws: `notAuthentic` when the tag does not fit. Whatever is thrown, `plaintext` has been wiped.
  package func open(
    _ ciphertext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    key: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer,
    plaintext: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    Self.check(key, nonce, tagCount: tag.count, from: ciphertext.count, to: plaintext.count)
    var written: Int32 = 0
    let succeeded =
      EVP_DecryptInit_ex2(opening, nil, key.bytePointer, nonce.bytePointer, nil) == 1
      && (additional.isEmpty
        || EVP_DecryptUpdate(opening, nil, &written, additional.bytePointer, Int32(additional.count)) == 1)
      && (ciphertext.isEmpty
        || EVP_DecryptUpdate(
          opening, plaintext.bytePointer, &written, ciphertext.bytePointer, Int32(ciphertext.count)) == 1)
      && EVP_CIPHER_CTX_ctrl(
        opening, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagCount), UnsafeMutableRawPointer(mutating: tag.baseAddress)) == 1
    var last: UInt8 = 0
    if succeeded, EVP_DecryptFinal_ex(opening, &last, &written) == 1 { return }
    if !plaintext.isEmpty { OPENSSL_cleanse(plaintext.baseAddress, plaintext.count) }
    guard succeeded else { throw .openSSL("opening") }
    ERR_clear_error()
    throw SealingError(.notAuthentic, "not authentic")
  }

  @inline(__always)
  private static func check(
    _ key: UnsafeRawBufferPointer, _ nonce: UnsafeRawBufferPointer, tagCount: Int, from source: Int, to target: Int
  ) {
    precondition(
      key.count == Self.keyCount && nonce.count == Self.nonceCount && tagCount == Self.tagCount && source == target,
      "internal error: AES-256-GCM between buffers of other sizes")
  }
}
