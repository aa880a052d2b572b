internal import CofferPlatform

/// Secret bytes in memory that is locked, excluded from core dumps, and wiped with its last owner.
///
/// They're never printed or copied to a String or an array, and only compared in constant time.
public final class Secret: Sendable {
  /// The number of bytes.
  public let count: Int
  private let capacity: Int
  // Only initialization writes to this memory. All later accesses read.
  private nonisolated(unsafe) let storage: UnsafeMutableRawPointer

  /// Creates a secret in locked memory, which `initialize` fills.
  ///
  /// `capacity` is the maximum number of bytes. `initialize` receives the memory and returns the number of bytes that
  /// it used.
  ///
  /// - Throws: The error from `initialize`. The memory is then released.
  public init<E: Error>(
    byteCount capacity: Int, initializingWith initialize: (UnsafeMutableRawBufferPointer) throws(E) -> Int
  ) throws(E) {
    let capacity = max(capacity, 1)
    storage = SecretMemory.allocate(capacity)
    self.capacity = capacity
    do throws(E) {
      let used = try initialize(UnsafeMutableRawBufferPointer(start: storage, count: capacity))
      precondition(used >= 0 && used <= capacity, "internal error: a secret longer than its memory")
      count = used
    } catch {
      SecretMemory.release(storage, capacity)
      throw error
    }
  }

  /// Creates a copy of `bytes`. The caller must wipe its own copy.
  public convenience init(copying bytes: UnsafeRawBufferPointer) {
    self.init(byteCount: bytes.count) { memory in
      memory.copyMemory(from: bytes)
      return bytes.count
    }
  }

  /// Returns new random bytes from the operating system.
  package static func random(byteCount: Int) throws(SealingError) -> Secret {
    try Secret(byteCount: byteCount) { memory throws(SealingError) in
      try SystemRandom.fill(memory)
      return memory.count
    }
  }

  deinit {
    SecretMemory.release(storage, capacity)
  }

  /// Calls `body` with the bytes, which are valid during the call. Don't keep a copy of them.
  ///
  /// - Returns: The result of `body`.
  /// - Throws: The errors of `body`.
  public func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try body(UnsafeRawBufferPointer(start: storage, count: count))
  }

  /// Returns a copy of some bytes as a new secret.
  package func slice(_ range: Range<Int>) -> Secret {
    withUnsafeBytes { Secret(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  /// Compares the bytes in constant time.
  package func isEqual(to other: Secret) -> Bool {
    withUnsafeBytes { mine in other.withUnsafeBytes { ConstantTime.equal(mine, $0) } }
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "Secret(redacted)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret {
  /// Reads a descriptor to its end with read(2), directly into locked memory.
  ///
  /// - Throws: `fileFailure` if the descriptor can't be read or contains more than `limit` bytes.
  public static func readAll(descriptor: Int32, limit: Int = 64 * 1024) throws(SealingError) -> Secret {
    let secret = try Secret(byteCount: limit + 1) { memory throws(SealingError) in
      var used = 0
      while used < memory.count {
        let got = FileBytes.readSome(of: descriptor, into: UnsafeMutableRawBufferPointer(rebasing: memory[used...]))
        guard got >= 0 else {
          throw SealingError(.fileFailure, "the key can't be read: \(String(cString: strerror(errno)))")
        }
        if got == 0 { break }
        used += got
      }
      return used
    }
    guard secret.count <= limit else {
      throw SealingError(.fileFailure, "the key is longer than \(limit) bytes: is it the right file?")
    }
    // Copy the bytes, to release the memory of `limit` bytes that was used for reading.
    return secret.slice(0..<secret.count)
  }

  /// Reads a file to its end, like ``readAll(descriptor:limit:)``.
  package static func readAll(path: String, limit: Int = 64 * 1024) throws(SealingError) -> Secret {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else {
      throw SealingError(.fileFailure, "\(path): \(String(cString: strerror(errno)))")
    }
    defer { CofferPlatform.close(descriptor) }
    // On some systems, a file in /dev/fd has its descriptor's offset. A pipe doesn't have an offset.
    _ = lseek(descriptor, 0, SEEK_SET)
    return try readAll(descriptor: descriptor, limit: limit)
  }
}

package enum ConstantTime {
  /// Compares two buffers in a time that depends only on their lengths.
  package static func equal(_ lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer) -> Bool {
    guard lhs.count == rhs.count else { return false }
    guard let left = lhs.baseAddress, let right = rhs.baseAddress, !lhs.isEmpty else { return true }
    return equal(left, right, lhs.count)
  }

  package static func equal(_ lhs: [UInt8], _ rhs: [UInt8]) -> Bool {
    lhs.withUnsafeBytes { left in rhs.withUnsafeBytes { equal(left, $0) } }
  }
}
