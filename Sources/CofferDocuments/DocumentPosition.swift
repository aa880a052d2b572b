/// A document's position in its collection, which is 1 to 255 bytes, compared bytewise. Another position always exists
/// between two positions.
///
/// Documents are sorted by (position, ID). A position travels with its document to copies of the store.
public struct DocumentPosition: Sendable {
  /// The maximum number of bytes.
  package static let maximumCount = 255
  /// The number of bytes in `high` and `low`.
  private static let inlineCount = 16

  /// The first 16 bytes as big-endian numbers, padded with zeros.
  private let high: UInt64
  private let low: UInt64
  private let count: UInt8
  /// The bytes after the first 16. Such long positions are rare, so positions usually don't need an allocation.
  private let rest: [UInt8]

  /// Creates a position, or returns `nil` unless there are 1 to 255 bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    let bytes = Array(bytes)
    guard let position = bytes.withUnsafeBytes({ DocumentPosition(copying: $0) }) else { return nil }
    self = position
  }

  package init?(copying bytes: UnsafeRawBufferPointer) {
    guard (1...Self.maximumCount).contains(bytes.count) else { return nil }
    count = UInt8(bytes.count)
    guard bytes.count < Self.inlineCount else {
      high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
      low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      rest = bytes.count == Self.inlineCount ? [] : Array(bytes[Self.inlineCount...])
      return
    }
    var words: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
    (high, low, rest) = (UInt64(bigEndian: words.0), UInt64(bigEndian: words.1), [])
  }

  /// The number of bytes.
  package var byteCount: Int { Int(count) }

  /// Writes the bytes to the beginning of memory with at least ``byteCount`` bytes.
  package func write(to memory: UnsafeMutableRawBufferPointer) {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes in
      memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(byteCount)))
    }
    if !rest.isEmpty { UnsafeMutableRawBufferPointer(rebasing: memory[Self.inlineCount...]).copyBytes(from: rest) }
  }

  /// The position's 1 to 255 bytes.
  public var bytes: [UInt8] {
    Array(unsafeUninitializedCapacity: byteCount) { memory, count in
      write(to: UnsafeMutableRawBufferPointer(memory))
      count = byteCount
    }
  }
}

extension DocumentPosition: Hashable, Comparable {
  public static func < (lhs: DocumentPosition, rhs: DocumentPosition) -> Bool {
    if lhs.high != rhs.high { return lhs.high < rhs.high }
    if lhs.low != rhs.low { return lhs.low < rhs.low }
    // If the bytes are equal up to the padding, a prefix precedes its extensions.
    if lhs.rest.isEmpty || rhs.rest.isEmpty { return lhs.count < rhs.count }
    return lhs.rest.lexicographicallyPrecedes(rhs.rest)
  }
}

extension DocumentPosition: CustomStringConvertible {
  /// The bytes as lowercase hexadecimal digits, which have the same order.
  public var description: String { Hexadecimal.text(bytes) }
}
