import CofferSealing
import Testing

@Suite struct ByteBuilderTests {
  @Test func writesBigEndianIntegers() {
    var builder = ByteBuilder()
    builder.append(UInt8(1))
    builder.append(UInt16(0x0203))
    builder.append(UInt32(0x0405_0607))
    builder.append(Int64(-5))
    #expect(builder.bytes == Hex("01020304050607fffffffffffffffb").bytes)
  }

  @Test func padsLabelsWithZeros() {
    var builder = ByteBuilder()
    builder.append(label: "coffer3/head", width: 16)
    #expect(builder.bytes == Array("coffer3/head".utf8) + [0, 0, 0, 0])
    builder.removeAll()
    builder.append(label: "coffer3/head")
    #expect(builder.bytes == Array("coffer3/head".utf8))
  }

  @Test func readsExactlyWrittenBytes() {
    var builder = ByteBuilder(reserving: 16)
    builder.append(UInt8(1))
    builder.append(Int64.min)
    builder.append(bytes: [7, 8, 9])
    builder.bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      #expect(reader.remaining == 12)
      #expect(reader.integer(UInt8.self) == 1)
      #expect(reader.integer(Int64.self) == .min)
      #expect(reader.integer(UInt32.self) == nil)
      #expect(reader.bytes(4) == nil)
      #expect(reader.bytes(-1) == nil)
      #expect(reader.bytes(3).map(Array.init) == [7, 8, 9])
      #expect(reader.isAtEnd)
      #expect(reader.bytes(0)?.count == 0)
      #expect(reader.integer(UInt8.self) == nil)
    }
  }

  @Test func readsEmptyBuffer() {
    var reader = ByteReader(UnsafeRawBufferPointer(start: nil, count: 0))
    #expect(reader.isAtEnd)
    #expect(reader.integer(UInt8.self) == nil)
    #expect(reader.bytes(0)?.count == 0)
  }

  @Test func encodesPartBoundaries() {
    let apart = PreAuthenticationEncoding().adding([1]).adding([2, 3])
    let otherwise = PreAuthenticationEncoding().adding([1, 2]).adding([3])
    let longer = PreAuthenticationEncoding().adding([1]).adding([2, 3]).adding([])
    #expect(Set([apart.bytes, otherwise.bytes, longer.bytes]).count == 3)
  }
}
