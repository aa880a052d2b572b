/// An element of the set hash, which is the code of a row or collection with its epoch's key (FORMAT, "Set hash").
package struct SetElement: Hashable, Sendable {
  package static let byteCount = HMACKey.byteCount

  /// The words in byte order.
  let words: (UInt64, UInt64, UInt64, UInt64)

  package init(bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == Self.byteCount, "internal error: an element of the set hash has 32 bytes")
    func word(_ index: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
    words = (word(0), word(1), word(2), word(3))
  }

  /// The 32 bytes.
  package var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

  /// The first eight bytes, as a number.
  package var mark: Int64 { Int64(bitPattern: UInt64(bigEndian: words.0)) }

  package static func == (lhs: SetElement, rhs: SetElement) -> Bool { lhs.words == rhs.words }

  package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

extension HMACKey {
  /// Returns a row's or collection's code as an element of the set hash.
  package func element(of message: UnsafeRawBufferPointer) throws(SealingError) -> SetElement {
    try authenticate(message, into: UnsafeMutableRawBufferPointer(start: code, count: Self.byteCount))
    return SetElement(bytes: UnsafeRawBufferPointer(start: code, count: Self.byteCount))
  }
}

/// The keyed multiset hash over all rows: LtHash16, a sum of 1,024 lanes modulo 2^16. The order of the elements
/// doesn't matter (FORMAT, "Set hash").
package struct SetHash: Hashable, Sendable {
  package static let byteCount = 2 * laneCount
  private static let laneCount = 1024
  private static let zeros = [UInt16](repeating: 0, count: laneCount)

  private var lanes: [UInt16]

  /// Creates the sum of an empty set.
  package init() {
    lanes = Self.zeros
  }

  /// Reads the little-endian lanes.
  package init(bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == Self.byteCount, "internal error: a set hash has 2,048 bytes")
    lanes = (0..<Self.laneCount).map {
      UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2 * $0, as: UInt16.self))
    }
  }

  /// Writes the little-endian lanes.
  package func write(to memory: UnsafeMutableRawBufferPointer) {
    for (index, lane) in lanes.enumerated() {
      memory.storeBytes(of: lane.littleEndian, toByteOffset: 2 * index, as: UInt16.self)
    }
  }

  /// Returns the lanes' SHA-256.
  package func digest() throws(SealingError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    bytes.withUnsafeMutableBytes { write(to: $0) }
    return try sha256(bytes)
  }

  /// Adds another sum's elements.
  package mutating func add(_ other: SetHash) {
    other.lanes.withUnsafeBufferPointer { other in add(other) }
  }

  fileprivate mutating func add(_ other: UnsafeBufferPointer<UInt16>) {
    lanes.withUnsafeMutableBufferPointer { lanes in
      for index in 0..<Self.laneCount { lanes[index] &+= UInt16(littleEndian: other[index]) }
    }
  }

  fileprivate mutating func subtract(_ other: UnsafeBufferPointer<UInt16>) {
    lanes.withUnsafeMutableBufferPointer { lanes in
      for index in 0..<Self.laneCount { lanes[index] &-= UInt16(littleEndian: other[index]) }
    }
  }
}

/// Adds elements to set hashes and removes them. Use it on one thread at a time.
///
/// Each call expands an element to its lanes with AES-256-CTR, which takes about half a microsecond. Therefore, rows
/// and batches contain elements, and bulk operations sum them on the thread that seals.
package final class SetSummer {
  private let keyStream: KeyStream
  private let lanes = UnsafeMutableRawBufferPointer.allocate(byteCount: SetHash.byteCount, alignment: 16)

  package init() throws(SealingError) {
    keyStream = try KeyStream(byteCount: SetHash.byteCount)
  }

  deinit {
    lanes.deallocate()
  }

  package func add(_ element: SetElement, to set: inout SetHash) throws(SealingError) {
    set.add(try expand(element))
  }

  package func subtract(_ element: SetElement, from set: inout SetHash) throws(SealingError) {
    set.subtract(try expand(element))
  }

  /// Returns the element's lanes, which are 2,048 bytes of key stream with the element as the key and a zero counter
  /// block.
  private func expand(_ element: SetElement) throws(SealingError) -> UnsafeBufferPointer<UInt16> {
    try keyStream.write(to: lanes, key: element)
    return UnsafeBufferPointer(lanes.assumingMemoryBound(to: UInt16.self))
  }
}
