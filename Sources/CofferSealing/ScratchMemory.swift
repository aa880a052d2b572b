internal import CofferPlatform

/// Memory for opened text and heads that is used again and wiped at its end. Belongs to one thread at a time.
package final class ScratchMemory {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  package init() {}

  /// Makes memory that gives room for exactly `byteCount` bytes.
  package init(byteCount: Int) {
    memory = .allocate(byteCount: byteCount, alignment: 16)
  }

  deinit {
    release()
  }

  /// At least `count` bytes; their former content may be gone, and earlier pointers are no longer valid.
  package func room(_ count: Int) -> UnsafeMutableRawBufferPointer {
    if count > memory.count {
      release()
      // Twice the requested size, so that growing texts don't allocate each time; large ones exactly.
      let capacity = count > 1 << 19 ? count : max(4096, 2 * count)
      memory = .allocate(byteCount: capacity, alignment: 16)
    }
    return UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
  }

  /// Wipes and frees memory beyond `limit` bytes, after a single large text.
  package func shrink(above limit: Int) {
    if memory.count > limit { release() }
  }

  private func release() {
    guard let start = memory.baseAddress else { return }
    coffer_wipe(start, memory.count)
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }
}

/// A copy of an opened text, wiped with its last owner.
package final class OpenedBytes: @unchecked Sendable {
  // Never changed after it is made.
  package let bytes: UnsafeRawBufferPointer

  package init(copying bytes: UnsafeRawBufferPointer) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    memory.copyMemory(from: bytes)
    self.bytes = UnsafeRawBufferPointer(memory)
  }

  deinit {
    if let start = bytes.baseAddress { coffer_wipe(UnsafeMutableRawPointer(mutating: start), bytes.count) }
    bytes.deallocate()
  }
}
