internal import CofferRecords
internal import CofferSealing
internal import Dispatch

/// Computes the SHA-256 of a content on another thread, while the caller reads or writes the content's next part.
///
/// The caller's thread hashes the first parts, because another thread would take longer to start. The other thread gets
/// copies, because a cipher that writes memory that another core has just read is several times slower. Use it on one
/// thread at a time.
final class ContentHasher {
  /// The number of first bytes that the caller's thread hashes.
  private static let firstBytes = 128 << 10
  /// The number of copies, and their size. The caller waits if the other thread hasn't hashed any copy yet.
  private static let (copyCount, copySize) = (4, 64 << 10)

  private let work: Work
  /// The number of bytes so far, and of copies.
  private var (byteCount, copied) = (0, 0)

  init() throws(StoreError) {
    work = Work(
      try translatingErrors { () throws(SealingError) in
        let hasher = try TextHasher()
        try hasher.begin()
        return hasher
      })
  }

  func update(_ bytes: UnsafeRawBufferPointer) {
    defer { byteCount += bytes.count }
    guard byteCount >= Self.firstBytes else { return work.hash(bytes) }
    for start in stride(from: 0, to: bytes.count, by: Self.copySize) {
      let part = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + Self.copySize, bytes.count)])
      if copied == 0 { startThread() }
      pass { copy in
        copy.memory.room(part.count).copyMemory(from: part)
        copy.count = part.count
      }
    }
  }

  private func startThread() {
    work.copies = (0..<Self.copyCount).map { _ in Copy(byteCount: Self.copySize) }
    // Keep one thread for the whole content, because a queue's threads change, and a core whose caches are cold.
    onSeparateThread(.userInitiated) { [work] in work.hashCopies() }
  }

  /// Passes a copy to the other thread, after a closure has filled it.
  private func pass(_ fill: (Copy) -> Void) {
    if copied >= Self.copyCount { work.hashed.wait() }
    fill(work.copies[copied % Self.copyCount])
    work.filled.signal()
    copied += 1
  }

  /// Ends the other thread.
  private func stop() {
    guard copied > 0 else { return }
    pass { $0.count = nil }
    copied = 0
  }

  deinit { stop() }

  /// Returns the SHA-256 of all bytes.
  func finish() throws(StoreError) -> TextDigest {
    if copied > 0 {
      stop()
      work.ended.wait()
    }
    return try translatingErrors { () throws(SealingError) in try work.finish() }
  }

  /// A copy of bytes, which one thread uses at a time.
  private final class Copy {
    let memory: ScratchMemory
    /// The number of bytes, or `nil` after the last copy.
    var count: Int?

    init(byteCount: Int) {
      memory = ScratchMemory(byteCount: byteCount)
    }
  }

  /// The work on either thread.
  private final class Work: @unchecked Sendable {
    // Sendable, because the caller's thread uses `hasher` and `failure` only before the other thread starts and after
    // it ends. It creates the copies first, and writes a copy only after it's hashed.
    private let hasher: TextHasher
    private var failure: SealingError?
    /// The copies, which are used in turn.
    var copies: [Copy] = []
    /// Count the copies that wait for the other thread, and the hashed copies.
    let (filled, hashed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let ended = DispatchSemaphore(value: 0)

    init(_ hasher: TextHasher) {
      self.hasher = hasher
    }

    func hash(_ bytes: UnsafeRawBufferPointer) {
      do throws(SealingError) {
        try hasher.update(bytes)
      } catch {
        failure = failure ?? error
      }
    }

    func hashCopies() {
      var next = 0
      filled.wait()
      while let count = copies[next].count {
        hash(UnsafeRawBufferPointer(copies[next].memory.room(count)))
        hashed.signal()
        next = (next + 1) % copies.count
        filled.wait()
      }
      ended.signal()
    }

    func finish() throws(SealingError) -> TextDigest {
      if let failure { throw failure }
      return try hasher.finish()
    }
  }
}
