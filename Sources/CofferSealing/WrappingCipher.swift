internal import CCofferOpenSSL

/// AES-256-GCM with the zero nonce, for keys that are used once (FORMAT, "Slots").
enum WrappingCipher {
  private static let tagCount = 16
  private static let nonce = [UInt8](repeating: 0, count: 12)

  static func seal(_ secret: Secret, under key: Secret, authenticating additional: [UInt8]) throws(SealingError)
    -> [UInt8]
  {
    guard let context = EVP_CIPHER_CTX_new() else { throw .openSSL("a cipher context") }
    defer { EVP_CIPHER_CTX_free(context) }
    var wrapped = [UInt8](repeating: 0, count: secret.count + tagCount)
    var written: Int32 = 0
    let succeeded = wrapped.withUnsafeMutableBytes { wrapped in
      key.withUnsafeBytes { key in
        secret.withUnsafeBytes { secret in
          EVP_EncryptInit_ex2(context, Algorithms.aes256GCM, key.bytePointer, nonce, nil) == 1
            && EVP_EncryptUpdate(context, nil, &written, additional, Int32(additional.count)) == 1
            && EVP_EncryptUpdate(context, wrapped.bytePointer, &written, secret.bytePointer, Int32(secret.count)) == 1
            && EVP_EncryptFinal_ex(context, wrapped.bytePointer, &written) == 1
            && EVP_CIPHER_CTX_ctrl(
              context, EVP_CTRL_AEAD_GET_TAG, Int32(tagCount), wrapped.baseAddress! + secret.count) == 1
        }
      }
    }
    guard succeeded else { throw .openSSL("wrapping the root key") }
    return wrapped
  }

  /// - Returns: nil when the tag does not fit.
  static func open(_ wrapped: [UInt8], under key: Secret, authenticating additional: [UInt8]) throws(SealingError)
    -> Secret?
  {
    guard wrapped.count > tagCount else { return nil }
    guard let context = EVP_CIPHER_CTX_new() else { throw .openSSL("a cipher context") }
    defer { EVP_CIPHER_CTX_free(context) }
    let count = wrapped.count - tagCount
    var tag = Array(wrapped[count...])
    var isAuthentic = false
    let secret = Secret(byteCount: count) { memory in
      var written: Int32 = 0
      var last: UInt8 = 0
      isAuthentic =
        key.withUnsafeBytes { EVP_DecryptInit_ex2(context, Algorithms.aes256GCM, $0.bytePointer, nonce, nil) } == 1
        && EVP_DecryptUpdate(context, nil, &written, additional, Int32(additional.count)) == 1
        && EVP_DecryptUpdate(context, memory.bytePointer, &written, wrapped, Int32(count)) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagCount), &tag) == 1
        && EVP_DecryptFinal_ex(context, &last, &written) == 1
      return count
    }
    ERR_clear_error()
    return isAuthentic ? secret : nil
  }
}
