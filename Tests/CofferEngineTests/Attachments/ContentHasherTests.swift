import CofferSealing
import CofferTestSupport
import Testing

@testable import CofferEngine

/// The SHA-256 that another thread computes.
struct ContentHasherTests {
  @Test(arguments: [0, 1, 100, 65_536, 200_000, 1 << 20], [0, 1, 2, 3, 9, 40])
  func hashesAllParts(partSize: Int, count: Int) throws {
    var random = Pseudorandom(seed: UInt64(partSize + count))
    let content = (0..<partSize + count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let (hasher, expected) = (try ContentHasher(), try TextHasher())
    try expected.begin()
    for number in 0..<count {
      // The caller's memory changes after each part.
      var part = Array(content[number..<number + partSize])
      try part.withUnsafeBytes { try expected.update($0) }
      part.withUnsafeBytes { hasher.update($0) }
      part.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) }
    }
    #expect(try hasher.finish() == expected.finish())
  }
}
