#if SwiftCrypto
  internal import Crypto

  /// SHA-256 with swift-crypto, which wipes its state when it's freed.
  struct DigestContext: ~Copyable {
    private var hasher = SHA256()

    init() throws(SealingError) {}

    mutating func begin() throws(SealingError) {
      hasher = SHA256()
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) throws(SealingError) {
      hasher.update(bufferPointer: bytes)
    }

    /// Writes the digest (32 bytes) of the bytes since `begin`.
    func finish(into digest: UnsafeMutableRawBufferPointer) throws(SealingError) {
      hasher.finalize(into: digest)
    }

    /// Writes the digest (32 bytes) of `bytes`.
    static func digest(of bytes: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer)
      throws(SealingError)
    {
      var hasher = SHA256()
      hasher.update(bufferPointer: bytes)
      hasher.finalize(into: digest)
    }
  }

  extension SHA256 {
    /// Writes the digest (32 bytes).
    func finalize(into digest: UnsafeMutableRawBufferPointer) {
      finalize().withUnsafeBytes { digest.copyMemory(from: $0) }
    }
  }
#endif
