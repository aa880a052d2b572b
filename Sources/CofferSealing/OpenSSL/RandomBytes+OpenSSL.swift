#if !SwiftCrypto
  internal import CCofferOpenSSL

  extension RandomBytes {
    /// Fills a page from OpenSSL's generator.
    static func generate(_ page: UnsafeMutableRawBufferPointer) throws(SealingError) {
      try requireOpenSSL()
      guard RAND_bytes(page.bytePointer, Int32(page.count)) == 1 else { throw .openSSL("random bytes") }
    }
  }
#endif
