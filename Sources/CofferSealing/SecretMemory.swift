internal import CofferPlatform

/// Memory for secrets: locked as far as the process may lock memory, kept out of core dumps, zeroed, wiped when freed.
///
/// Small secrets share a heap, while it has room for them. Large and further ones get separate pages.
enum SecretMemory {
  private static let largestInHeap = 4096

  static func allocate(_ count: Int) -> UnsafeMutableRawPointer {
    if count <= largestInHeap, let memory = SecretHeap.allocate(count) { return memory }
    guard let memory = lockedPages(count) else { preconditionFailure("out of memory for keys") }
    return memory
  }

  static func release(_ memory: UnsafeMutableRawPointer, _ count: Int) {
    if SecretHeap.contains(memory) { return SecretHeap.release(memory, count) }
    coffer_wipe(memory, count)
    munmap(memory, count)
  }

  /// New pages, or `nil` if the system has none.
  static func lockedPages(_ count: Int) -> UnsafeMutableRawPointer? {
    let memory = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else { return nil }
    mlock(memory, count)
    coffer_keep_out_of_cores(memory, count)
    return memory
  }
}
