#if SwiftCrypto
  internal import CofferPlatform
  internal import Crypto

  /// An HMAC-SHA-256 key (RFC 2104), which is reused for all messages. It consists of both digests' states after the
  /// key's block.
  ///
  /// swift-crypto's own HMAC leaves the key in three arrays that it frees without wiping, and takes one and a half
  /// times as long. These states are in ordinary memory, and wiped when they're freed.
  struct CodeContext: ~Copyable {
    private static let blockCount = 64

    private let inner: SHA256
    private let outer: SHA256

    init(_ key: Secret) throws(SealingError) {
      let context = key.withUnsafeBytes { Self.states(key: $0) }
      (inner, outer) = context
    }

    init(key: UnsafeRawBufferPointer) {
      (inner, outer) = Self.states(key: key)
    }

    private static func states(key: UnsafeRawBufferPointer) -> (inner: SHA256, outer: SHA256) {
      withUnsafeTemporaryAllocation(byteCount: blockCount, alignment: 8) { block in
        defer { coffer_wipe(block.baseAddress!, block.count) }
        func state(_ mask: UInt8) -> SHA256 {
          block.initializeMemory(as: UInt8.self, repeating: 0)
          if key.count > blockCount {
            var hasher = SHA256()
            hasher.update(bufferPointer: key)
            hasher.finalize(into: UnsafeMutableRawBufferPointer(rebasing: block[..<HMACKey.byteCount]))
          } else {
            block.copyMemory(from: key)
          }
          for index in block.indices { block[index] ^= mask }
          var hasher = SHA256()
          hasher.update(bufferPointer: UnsafeRawBufferPointer(block))
          return hasher
        }
        return (state(0x36), state(0x5C))
      }
    }

    /// Writes the message's code (32 bytes).
    func authenticate(_ message: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer) throws(SealingError)
    {
      authenticate(into: code) { $0.update(bufferPointer: message) }
    }

    /// Writes the code (32 bytes) of the bytes that `feed` adds.
    @inline(__always)
    func authenticate(into code: UnsafeMutableRawBufferPointer, _ feed: (inout SHA256) -> Void) {
      var inner = inner
      feed(&inner)
      var outer = outer
      inner.finalize().withUnsafeBytes { outer.update(bufferPointer: $0) }
      outer.finalize(into: code)
    }
  }
#endif
