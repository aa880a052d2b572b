internal import CofferPlatform

/// AES-256-GCM (NIST SP 800-38D) with nonces of 96 bits and tags of 128, its keys kept from call to call.
///
/// Belongs to one thread at a time. The caller answers for nonces: ``XAESKey`` derives keys from them, and
/// ``WrappingCipher`` uses each key once. Nothing else seals with it.
package final class AES256GCM {
  package static let keyCount = 32
  package static let nonceCount = 12
  package static let tagCount = 16

  @exclusivity(unchecked) private var context = GCMContext()

  package init() {}

  /// Seals `plaintext` into `ciphertext` (as long) and `tag`.
  ///
  /// - Parameter key: nil for the key of the previous call, whose schedule is kept.
  package func seal(
    _ plaintext: UnsafeRawBufferPointer, authenticating additional: UnsafeRawBufferPointer,
    key: UnsafeRawBufferPointer?, nonce: UnsafeRawBufferPointer, ciphertext: UnsafeMutableRawBufferPointer,
    tag: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    Self.check(key, nonce, tagCount: tag.count, from: plaintext.count, to: ciphertext.count)
    try context.seal(
      plaintext, authenticating: additional, key: key, nonce: nonce, ciphertext: ciphertext, tag: tag)
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
