#if !SwiftCrypto
  internal import CCofferOpenSSL

  /// OpenSSL's secure heap, of which secrets take up to half.
  ///
  /// OpenSSL keeps its own secrets there, and without room for them it can't even draw random bytes.
  enum SecretHeap {
    /// 1 MiB holds thousands of keys; a smaller RLIMIT_MEMLOCK leaves it unlocked, not unused.
    private static let heapCount = 1 << 20
    private static let smallestBlock = 32

    /// Set up once per process before the first secret: without that the heap hands out ordinary memory in silence.
    private static let isReady =
      CRYPTO_secure_malloc_initialized() == 1 || CRYPTO_secure_malloc_init(heapCount, smallestBlock) != 0

    /// Zeroed memory, or `nil` if there's no room.
    static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
      guard isReady, CRYPTO_secure_used() < heapCount / 2 else { return nil }
      return CRYPTO_secure_zalloc(count, nil, 0)
    }

    static func contains(_ memory: UnsafeMutableRawPointer) -> Bool { CRYPTO_secure_allocated(memory) == 1 }

    /// Wipes and frees memory of the heap.
    static func release(_ memory: UnsafeMutableRawPointer, _ count: Int) {
      CRYPTO_secure_clear_free(memory, count, nil, 0)
    }
  }
#endif
