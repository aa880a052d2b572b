internal import CofferSealing

/// The SHA-256 of bytes that arrive in parts.
struct ContentDigest {
  private let hasher: TextHasher

  init() {
    hasher = Self.trapping { () throws(SealingError) in
      let hasher = try TextHasher()
      try hasher.begin()
      return hasher
    }
  }

  func update(_ bytes: UnsafeRawBufferPointer) {
    Self.trapping { () throws(SealingError) in try hasher.update(bytes) }
  }

  /// Returns the 32 bytes.
  func finish() -> [UInt8] {
    let digest = Self.trapping { () throws(SealingError) in try hasher.finish() }
    var bytes = [UInt8](repeating: 0, count: TextDigest.byteCount)
    bytes.withUnsafeMutableBytes { digest.write(to: $0) }
    return bytes
  }

  /// Traps on errors, because SHA-256 accepts any bytes and fails only if memory is short.
  private static func trapping<T>(_ work: () throws(SealingError) -> T) -> T {
    do throws(SealingError) {
      return try work()
    } catch {
      preconditionFailure("internal error: SHA-256 failed")
    }
  }
}
