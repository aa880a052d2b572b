import CofferRecords
import Testing

/// The bounds of contents and their chunks.
struct ChunkLayoutTests {
  @Test func limitsContent() throws {
    let largest = try #require(ChunkLayout(byteCount: 1 << 40, isPadded: false))
    #expect(largest.count == ChunkLayout.maximumCount && largest.isLast(ChunkLayout.maximumCount - 1))
    #expect(largest.length(of: ChunkLayout.maximumCount - 1) == ChunkLayout.standardSize)
    #expect(ChunkLayout(byteCount: 1 << 40 + 1, isPadded: false) == nil)
    #expect(ChunkLayout(byteCount: 1 << 40 + 1, chunkSize: 1 << 20, isPadded: false) == nil)
    #expect(ChunkLayout(byteCount: 0, isPadded: false)?.count == 1)
    #expect(ChunkLayout(byteCount: -1, isPadded: false) == nil)
  }

  @Test(arguments: [(4_096, 1 << 36), (65_536, 1 << 40)]) func limitsNumberOfChunks(size: Int, most: Int) throws {
    let layout = try #require(ChunkLayout(byteCount: most, chunkSize: size, isPadded: true))
    #expect(layout.count == ChunkLayout.maximumCount)
    #expect(ChunkLayout(byteCount: most + 1, chunkSize: size, isPadded: false) == nil)
    #expect(ChunkLayout(byteCount: most + 1, chunkSize: size, isPadded: true) == nil)
  }

  @Test func limitsSizeOfChunk() {
    #expect(ChunkLayout(byteCount: 1, chunkSize: 4_095, isPadded: false) == nil)
    #expect(ChunkLayout(byteCount: 1, chunkSize: 4_096, isPadded: false) != nil)
    #expect(ChunkLayout(byteCount: 1, chunkSize: 1 << 20, isPadded: false) != nil)
    #expect(ChunkLayout(byteCount: 1, chunkSize: 1 << 20 + 1, isPadded: false) == nil)
  }
}
