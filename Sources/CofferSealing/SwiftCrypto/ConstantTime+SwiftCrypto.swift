#if SwiftCrypto
  internal import CofferPlatform

  extension ConstantTime {
    /// Compares `count` bytes in a time that depends only on `count`.
    static func equal(_ lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer, _ count: Int) -> Bool {
      coffer_is_equal(lhs, rhs, count)
    }
  }
#endif
