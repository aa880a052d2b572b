internal import CofferPlatform

/// Memory for secrets, which is locked as far as the process may lock memory, excluded from core dumps, zeroed, and
/// wiped when it's freed.
///
/// Small secrets share a heap while it has space. Other secrets get separate pages.
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

  /// Returns new pages, or `nil` if the system can't provide them.
  static func lockedPages(_ count: Int) -> UnsafeMutableRawPointer? {
    let memory = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else { return nil }
    mlock(memory, count)
    coffer_keep_out_of_cores(memory, count)
    return memory
  }
}
