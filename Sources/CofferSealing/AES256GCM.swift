internal import CofferPlatform

/// AES-256-GCM (NIST SP 800-38D) with 96-bit nonces and 128-bit tags. Keys are kept between calls.
///
/// Use it on one thread at a time. The caller is responsible for nonces: ``XAESKey`` derives keys from them, and
/// ``WrappingCipher`` uses each key once. Other code doesn't seal with this type.
package final class AES256GCM {
  package static let keyCount = 32
  package static let nonceCount = 12
  package static let tagCount = 16

  @exclusivity(unchecked) private var context = GCMContext()

  package init() {}

  /// Seals `plaintext` into `ciphertext` (the same length) and `tag`.
  ///
  /// - Parameter key: The key, or `nil` to use the previous call's key, whose schedule is kept.
  package func seal(
    _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    key: UnsafeRawBufferPointer?, nonce: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer,
    tag: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    Self.check(key, nonce, tagCount: tag.count, from: plaintext.count, to: ciphertext.count)
    try context.seal(
      plaintext, authenticating: additional, key: key, nonce: nonce, ciphertext: ciphertext, tag: tag)
  }

  /// Opens a ciphertext from `seal` into `plaintext`, which has the same length.
  ///
  /// - Parameter key: The key, or `nil` to use the previous call's key, whose schedule is kept.
  /// - Throws: `notAuthentic` for a wrong tag. After any error, `plaintext` has been wiped.
  package func open(
    _ ciphertext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    key: UnsafeRawBufferPointer?, nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer,
    plaintext: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    Self.check(key, nonce, tagCount: tag.count, from: ciphertext.count, to: plaintext.count)
    do throws(SealingError) {
      try context.open(
        ciphertext, authenticating: additional, key: key, nonce: nonce, tag: tag, plaintext: plaintext)
    } catch {
      if !plaintext.isEmpty { coffer_wipe(plaintext.baseAddress, plaintext.count) }
      throw error
    }
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
