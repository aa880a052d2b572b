import CofferTestSupport
import Testing

@testable import CofferDocuments

/// The length of a text that a tape can hold. `JSONReading` gives a longer text to Foundation.
struct JSONTapeTests {
  /// Each text fills the limit with one value, whose length takes all 28 bits of its entry.
  @Test(.slow, arguments: [(UInt8(ascii: "\""), UInt8(ascii: "x")), (UInt8(ascii: "1"), UInt8(ascii: "1"))])
  func limitsLength(_ outer: UInt8, _ inner: UInt8) throws {
    let count = JSONTape.maximumByteCount
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count + 1, alignment: 1)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: inner)
    func tape(_ count: Int) throws(JSONError) -> JSONTape {
      (memory[0], memory[count - 1]) = (outer, outer)
      return try JSONTape(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    }
    let entry = try tape(count).entries[0]
    let quotes = outer == inner ? 0 : 2
    #expect(entry.range.count == count - quotes && entry.isMarked == (outer == inner))
    memory[count - 1] = inner
    #expect(throws: JSONError.self) { try tape(count + 1) }
  }
}
