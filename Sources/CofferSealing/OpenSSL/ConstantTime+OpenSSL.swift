#if !SwiftCrypto
  internal import CCofferOpenSSL

  extension ConstantTime {
    /// Compares `count` bytes in a time that depends only on `count`.
    static func equal(_ lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer, _ count: Int) -> Bool {
      CRYPTO_memcmp(lhs, rhs, count) == 0
    }
  }
#endif
