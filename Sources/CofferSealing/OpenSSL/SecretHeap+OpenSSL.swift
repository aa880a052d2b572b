#if !SwiftCrypto
  internal import CCofferOpenSSL

  /// OpenSSL's secure heap, up to half of which stores this module's secrets.
  ///
  /// OpenSSL stores its own secrets in this heap, and can't even generate random bytes when it's full.
  enum SecretHeap {
    /// 1 MiB stores thousands of keys. With a smaller RLIMIT_MEMLOCK, the heap is used without being locked.
    private static let heapCount = 1 << 20
    private static let smallestBlock = 32

    /// Initialize the heap once in each process before the first secret, because the heap would otherwise silently
    /// return ordinary memory.
    private static let isReady =
      CRYPTO_secure_malloc_initialized() == 1 || CRYPTO_secure_malloc_init(heapCount, smallestBlock) != 0

    /// Returns zeroed memory, or `nil` if the heap is full.
    static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
      guard isReady, CRYPTO_secure_used() < heapCount / 2 else { return nil }
      return CRYPTO_secure_zalloc(count, nil, 0)
    }

    static func contains(_ memory: UnsafeMutableRawPointer) -> Bool { CRYPTO_secure_allocated(memory) == 1 }

    /// Wipes and frees the heap's memory.
    static func release(_ memory: UnsafeMutableRawPointer, _ count: Int) {
      CRYPTO_secure_clear_free(memory, count, nil, 0)
    }
  }
#endif
