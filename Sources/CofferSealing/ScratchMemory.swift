internal import CCofferOpenSSL

/// Memory for opened text and heads that is used again and wiped at its end. Belongs to one thread at a time.
package final class ScratchMemory {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  package init() {}

  deinit {
    release()
  }

  /// At least `count` bytes; what stood there may be gone, and earlier pointers are no longer valid.
  package func room(_ count: Int) -> UnsafeMutableRawBufferPointer {
    if count > memory.count {
      release()
      // Twice what is asked for, so that growing texts don't allocate each time; large ones exactly.
      let capacity = count > 1 << 19 ? count : max(4096, 2 * count)
      memory = .allocate(byteCount: capacity, alignment: 16)
    }
    return UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
  }

  /// Wipes and gives back memory beyond `limit` bytes, after a single large text.
  package func shrink(above limit: Int) {
    if memory.count > limit { release() }
  }

  private func release() {
    guard let start = memory.baseAddress else { return }
    OPENSSL_cleanse(start, memory.count)
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }
}
