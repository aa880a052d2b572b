import CofferPlatform
import Foundation
import Testing

@testable import CofferSealing

/// Searches for keys and texts in memory after the library has used and freed them.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/mem"), "needs /proc"))
struct BackendMemoryTests {
  /// In a process of its own, where no other test writes into freed memory.
  @Test func usesLeaveNoKeys() async {
    await #expect(processExitsWith: .success) {
      for (name, use) in uses {
        let needles = MaskedSecret.random()
        try autoreleased { try use(needles.secret()) }
        #expect(try needles.isFound() == false, "\(name)")
      }
    }
  }

  @Test func openingLeavesNoText() async {
    await #expect(processExitsWith: .success) {
      for count in [64, 1024, 20_000] {
        let (text, key) = (MaskedSecret.random(count), try XAESKey(.random(byteCount: 32)))
        try autoreleased {
          let blob = try key.seal(text.secret(), authenticating: [1])
          _ = try key.openSecret(blob, authenticating: [1])
        }
        #expect(try text.isFound() == false, "\(count) bytes")
      }
    }
  }

  /// Shows that the search finds what is there.
  @Test func searchFindsSecretInUse() async {
    await #expect(processExitsWith: .success) {
      let masked = MaskedSecret.random()
      let secret = masked.secret()
      let isFound = try masked.isFound()
      #expect(isFound)
      withExtendedLifetime(secret) {}
    }
  }
}

/// The uses of a key of 32 bytes.
private let uses: [(String, @Sendable (Secret) throws -> Void)] = [
  ("XAES", { try useOfXAES($0) }),
  (
    "wrapping",
    { key in
      let wrapped = try WrappingCipher.seal(Secret("root"), under: key, authenticating: [])
      _ = try WrappingCipher.open(wrapped, under: key, authenticating: [])
    }
  ),
  ("HMAC", { _ = try HMACKey($0).authenticate([1]) }),
  ("HKDF", { _ = try hkdf($0, salt: [1], info: [2], byteCount: 100) }),
  ("scrypt", { _ = try scrypt($0, salt: [1], cost: .test) }),
  (
    "X25519",
    { key in
      _ = try X25519.sharedSecret(of: key, with: X25519.publicKey(of: .random(byteCount: 32)))
      _ = try X25519.publicKey(of: key)
    }
  ),
  ("Ed25519", { _ = try Ed25519.sign(Ed25519.publicKey(of: $0), with: $0) }),
  ("checksum", { _ = try KeyLine(kind: .key, isTest: true, secret: $0).line() }),
]

private func useOfXAES(_ secret: Secret) throws {
  let key = try XAESKey(secret)
  for _ in 0..<3 { _ = try key.open(key.seal([1, 2, 3], authenticating: []), authenticating: []) }
}

/// Calls `body` in a frame of its own.
@inline(never)
private func autoreleased(_ body: () throws -> Void) rethrows { try body() }

/// Random bytes that are in memory only while a secret holds them.
private struct MaskedSecret {
  private static let mask: UInt8 = 0xA5
  private let masked: [UInt8]

  static func random(_ count: Int = 32) -> MaskedSecret {
    MaskedSecret(masked: (0..<count).map { _ in UInt8.random(in: .min ... .max) })
  }

  func secret() -> Secret {
    Secret(byteCount: masked.count) { memory in
      for (index, byte) in masked.enumerated() { memory[index] = byte ^ Self.mask }
      return memory.count
    }
  }

  /// Whether 16 bytes of the front, the middle or the back are in the memory of this process.
  func isFound() throws -> Bool {
    let parts = [masked.prefix(16), masked.dropFirst(masked.count / 2).prefix(16), masked.suffix(16)].map(Array.init)
    let list = try #require(try FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd())
    let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
    defer { close(memory) }
    let size = 1 << 20
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    defer { buffer.deallocate() }
    for line in String(decoding: list, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words[1].hasPrefix("rw") else { continue }
      let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
      // Skips the shadow memory of sanitizers.
      guard ends[1] - ends[0] < 1 << 30 else { continue }
      for start in stride(from: ends[0], to: ends[1], by: size - 16) {
        let count = pread(memory, buffer.baseAddress, min(size, ends[1] - start), off_t(start))
        let bytes = UnsafeRawBufferPointer(start: buffer.baseAddress, count: max(0, count))
        if parts.contains(where: { Self.isFound($0, in: bytes) }) { return true }
      }
    }
    return false
  }

  private static func isFound(_ masked: [UInt8], in bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes
    while let start = rest.baseAddress, rest.count >= masked.count,
      let first = memchr(start, Int32(masked[0] ^ mask), rest.count - masked.count + 1)
    {
      let at = UnsafeRawPointer(first) - start
      if masked.indices.allSatisfy({ rest[at + $0] == masked[$0] ^ mask }) { return true }
      rest = UnsafeRawBufferPointer(rebasing: rest[(at + 1)...])
    }
    return false
  }
}
