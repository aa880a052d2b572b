import CofferRecords

/// A ring's bytes, from hexadecimal digits and padded with zeros.
struct RingBytes {
  var bytes: [UInt8]

  init(_ hex: String) {
    let digits = hex.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue!) }
    bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    bytes += [UInt8](repeating: 0, count: max(0, ChangeRing.byteCount - bytes.count))
  }

  init(_ ring: ChangeRing) {
    // Fill the buffer, because the ring must write every byte.
    bytes = [UInt8](repeating: 0xee, count: ChangeRing.byteCount)
    bytes.withUnsafeMutableBytes { ring.write(to: $0) }
  }

  func ring(known: UInt64, generation: UInt64) -> ChangeRing? {
    bytes.withUnsafeBytes { ChangeRing(known: known, bytes: $0, generation: generation) }
  }
}

extension ChangeRing {
  mutating func append(_ generation: UInt64, mark: [UInt8], _ changes: RingChanges) {
    mark.withUnsafeBytes { append(generation, markBefore: $0, changes) }
  }

  /// The changes of every generation in the ring.
  var everyChange: [RingChanges]? { changes(after: known - 1)?.map(\.changes) }
}
