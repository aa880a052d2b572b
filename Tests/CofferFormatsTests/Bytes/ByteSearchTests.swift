import Testing

@testable import CofferFormats

/// Compares the search for two bytes with a loop.
struct ByteSearchTests {
  @Test func findsFirstOfTwoBytes() {
    for count in 0...70 {
      for place in 0...count {
        // Insert bytes that differ in one bit, and a second match after the first.
        var bytes = [UInt8](repeating: 0x0B, count: count)
        if place < count { bytes[place] = place.isMultiple(of: 2) ? 0x0A : 0x80 }
        if place + 3 < count { bytes[place + 3] = 0x0A }
        for start in Set([0, 1, 7, place, count]) where start <= count {
          let expected = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x80 } ?? count
          bytes.withUnsafeBytes { #expect($0.firstOffset(of: 0x0A, or: 0x80, from: start) == expected) }
        }
      }
    }
  }

  @Test func searchForEachByteSkipsEveryOtherByte() {
    for byte in UInt8.min...UInt8.max {
      let others = (UInt8.min...UInt8.max).filter { $0 != byte }
      others.withUnsafeBytes { #expect($0.firstOffset(of: byte, or: byte, from: 0) == 255) }
      (others + [byte]).withUnsafeBytes { #expect($0.firstOffset(of: byte, or: byte, from: 0) == 255) }
      #expect((others + [byte, 1]).withUnsafeBytes { $0.firstOffset(of: byte, or: byte, from: 0) } == 255)
    }
  }
}
