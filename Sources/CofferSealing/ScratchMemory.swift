internal import CofferPlatform

/// Reusable memory for opened text and heads, which is wiped at its end. Use it on one thread at a time.
package final class ScratchMemory {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  package init() {}

  /// Creates memory with exactly `byteCount` bytes.
  package init(byteCount: Int) {
    memory = .allocate(byteCount: byteCount, alignment: 16)
  }

  deinit {
    release()
  }

  /// Returns at least `count` bytes. The previous content may be lost, and earlier pointers become invalid.
  package func room(_ count: Int) -> UnsafeMutableRawBufferPointer {
    if count > memory.count {
      release()
      // Allocate twice the requested size, so growing texts don't allocate each time, but allocate large sizes exactly.
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

/// A copy of an opened text, which is wiped with its last owner.
package final class OpenedBytes: @unchecked Sendable {
  // Never changed after initialization.
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
