import CofferRecords
import CofferTestSupport
import Testing

/// The entries of later versions in heads, collections and states (FORMAT, "Extension parts").
struct ExtensionPartTests {
  private typealias Entry = (type: UInt16, bytes: [UInt8])

  private func bytes(_ entries: [Entry]) -> [UInt8] {
    var bytes: [UInt8] = []
    for entry in entries {
      withUnsafeBytes(of: entry.type.bigEndian) { bytes += $0 }
      withUnsafeBytes(of: UInt32(entry.bytes.count).bigEndian) { bytes += $0 }
      bytes += entry.bytes
    }
    return bytes
  }

  private func isNewer(_ bytes: [UInt8], of owner: ExtensionPart.Owner) -> Bool? {
    bytes.withUnsafeBytes { ExtensionPart($0, of: owner)?.isNewer }
  }

  @Test(arguments: [ExtensionPart.Owner.head, .collection, .state])
  func acceptsEntriesUpToLimit(_ owner: ExtensionPart.Owner) {
    #expect(isNewer([], of: owner) == false)
    #expect(isNewer(bytes([(0, []), (1, [7]), (255, [1, 2])]), of: owner) == false)
    #expect(isNewer(bytes([(1, []), (0x8001, [])]), of: owner) == true)
    #expect(isNewer(bytes([(9, [UInt8](repeating: 1, count: owner.limit - 6))]), of: owner) == false)
    #expect(isNewer(bytes([(9, [UInt8](repeating: 1, count: owner.limit - 5))]), of: owner) == nil)
    #expect(isNewer(bytes([(0x0500, [])]), of: owner) == (owner == .head ? false : nil))
    #expect(isNewer(bytes([(0x0600, [])]), of: owner) == nil)
  }

  @Test(arguments: [
    [0], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 1], [0, 1, 0xFF, 0xFF, 0xFF, 0xFF],
    [0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
    [0x10, 0, 0, 0, 0, 0], [0x20, 0, 0, 0, 0, 0], [0x40, 0, 0, 0, 0, 0],
  ])
  func rejectsMalformedEntries(_ bytes: [UInt8]) {
    #expect(isNewer(bytes, of: .head) == nil)
  }

  @Test(arguments: 0..<20)
  func dropsEntriesOfChangedParts(_ seed: UInt64) throws {
    var source = Pseudorandom(seed: seed)
    let types = Set((0..<12).map { _ in UInt16.random(in: 0...5, using: &source) << 8 | UInt16(source.next() % 256) })
    let entries = types.sorted().map { type in
      (
        type: type,
        bytes: (0..<Int.random(in: 0...9, using: &source)).map { _ in UInt8.random(in: 0...255, using: &source) }
      )
    }
    let changed = ExtensionPart.Parts(rawValue: UInt16(source.next() % 64) & ~1)
    let kept = entries.filter { !changed.contains(ExtensionPart.Parts(rawValue: 1 << ($0.type >> 8))) }
    let all = bytes(entries)
    try all.withUnsafeBytes { memory in
      let part = try #require(ExtensionPart(memory, of: .head))
      #expect(part.bytes(withoutThoseOf: changed) == bytes(kept))
      #expect(part.bytes(withoutThoseOf: []) == all)
    }
  }
}
