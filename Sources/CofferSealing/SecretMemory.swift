internal import CCofferOpenSSL
internal import CofferPlatform

/// Memory for secrets: locked as far as the process may lock memory, kept out of core dumps, zeroed, wiped when freed.
///
/// Small secrets share OpenSSL's secure heap, up to half of it: OpenSSL keeps its own secrets there, and without room
/// for them it can't even draw random bytes. Large and further ones get separate pages.
enum SecretMemory {
  /// 1 MiB holds thousands of keys; a smaller RLIMIT_MEMLOCK leaves it unlocked, not unused.
  private static let heapCount = 1 << 20
  private static let smallestBlock = 32
  private static let largestInHeap = 4096

  /// Set up once per process before the first secret: without that the heap hands out ordinary memory in silence.
  private static let isReady =
    CRYPTO_secure_malloc_initialized() == 1 || CRYPTO_secure_malloc_init(heapCount, smallestBlock) != 0

  static func allocate(_ count: Int) -> UnsafeMutableRawPointer {
    if isReady, count <= largestInHeap, CRYPTO_secure_used() < heapCount / 2,
      let memory = CRYPTO_secure_zalloc(count, nil, 0)
    {
      return memory
    }
    let memory = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else { preconditionFailure("out of memory for keys") }
    mlock(memory, count)
    coffer_keep_out_of_cores(memory, count)
    return memory
  }

  static func release(_ memory: UnsafeMutableRawPointer, _ count: Int) {
    if CRYPTO_secure_allocated(memory) == 1 {
      CRYPTO_secure_clear_free(memory, count, nil, 0)
    } else {
      OPENSSL_cleanse(memory, count)
      munmap(memory, count)
    }
  }
}
