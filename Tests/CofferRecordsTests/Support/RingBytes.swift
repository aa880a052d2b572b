import CofferRecords

/// The bytes of a ring that is smaller than a store's, from hexadecimal digits and padded with zeros.
struct RingBytes {
  static let count = 2048

  var bytes: [UInt8]

  init(_ hex: String) {
    let digits = hex.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue!) }
    bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    bytes += [UInt8](repeating: 0, count: max(0, Self.count - bytes.count))
  }

  init(_ ring: ChangeRing) {
    // Fill the buffer, because the ring must write every byte.
    bytes = [UInt8](repeating: 0xee, count: ring.byteCount)
    bytes.withUnsafeMutableBytes { ring.write(to: $0) }
  }

  func ring(known: UInt64, generation: UInt64) -> ChangeRing? {
    bytes.withUnsafeBytes { ChangeRing(known: known, bytes: $0, generation: generation) }
  }
}

extension ChangeRing {
  /// Creates an empty ring of the size of ``RingBytes``.
  init(smallAfter generation: UInt64) {
    self.init(after: generation, byteCount: RingBytes.count)
  }

  mutating func append(_ generation: UInt64, mark: [UInt8], _ changes: RingChanges) {
    _ = mark.withUnsafeBytes { append(generation, markBefore: $0, changes) }
  }

  /// The changes of every generation in the ring.
  var everyChange: [RingChanges]? { changes(after: known - 1)?.map(\.changes) }
}
