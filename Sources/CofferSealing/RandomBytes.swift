internal import CofferPlatform

/// The operating system's random bytes, for keys, salts and the first halves of nonces (FORMAT, "Random bytes").
///
/// Random bytes are never cached, because a process restored from a memory snapshot, or a forked child, would repeat
/// the output of an in-memory generator.
package enum SystemRandom {
  /// - Throws: `systemFailure` if the kernel doesn't return random bytes.
  package static func fill(_ memory: UnsafeMutableRawBufferPointer) throws(SealingError) {
    var rest = memory[...]
    while !rest.isEmpty {
      // The call accepts at most 256 bytes.
      let part = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(256))
      guard coffer_random_bytes(part.baseAddress!, part.count) == 0 else {
        throw SealingError(.systemFailure, "the operating system gives no random bytes")
      }
      rest = rest.dropFirst(part.count)
    }
  }

  package static func bytes(_ count: Int) throws(SealingError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    try bytes.withMutableBytes { memory throws(SealingError) in try fill(memory) }
    return bytes
  }
}

/// Random bytes for the second halves of nonces, drawn from a page that's filled with a single call and is empty after
/// a fork.
///
/// Drawing takes a few nanoseconds, but a kernel call takes almost a microsecond. The kernel wipes the page in the
/// child of a fork (MADV_WIPEONFORK), so parent and child never draw the same bytes. If the kernel doesn't support
/// this, a number detects the child of a `fork()`.
package final class RandomBytes {
  private static let pageSize = 4096
  private let page: UnsafeMutableRawBufferPointer
  /// The offset of the next draw. Byte 0 marks that this process filled the page.
  private var next = RandomBytes.pageSize
  /// The fork in which the page was filled, or `nil` if the kernel wipes the page in children.
  private var generation: UInt64?

  package init() throws(SealingError) {
    let memory = mmap(nil, Self.pageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else { throw SealingError(.systemFailure, "no memory for random bytes") }
    page = UnsafeMutableRawBufferPointer(start: memory, count: Self.pageSize)
    if coffer_wipe_on_fork(memory, Self.pageSize) != 0 { generation = coffer_fork_generation() }
  }

  deinit {
    munmap(page.baseAddress, Self.pageSize)
  }

  /// Fills `target`, which must be smaller than a page.
  package func draw(into target: UnsafeMutableRawBufferPointer) throws(SealingError) {
    precondition(target.count < Self.pageSize, "internal error: more random bytes at once than a page holds")
    if let generation, generation != coffer_fork_generation() { next = Self.pageSize }
    if page[0] != 1 || next + target.count > Self.pageSize {
      try refill()
    }
    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: page[next..<next + target.count]))
    next += target.count
  }

  private func refill() throws(SealingError) {
    try Self.generate(page)
    if generation != nil { generation = coffer_fork_generation() }
    page[0] = 1
    next = 1
  }
}
