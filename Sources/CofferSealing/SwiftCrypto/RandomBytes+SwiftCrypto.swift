#if SwiftCrypto
  extension RandomBytes {
    /// Fills a page from the operating system, as swift-crypto does.
    static func generate(_ page: UnsafeMutableRawBufferPointer) throws(SealingError) {
      try SystemRandom.fill(page)
    }
  }
#endif
