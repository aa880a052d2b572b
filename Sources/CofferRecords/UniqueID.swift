internal import CofferDocuments
package import CofferSealing

/// The 16 random bytes that identify a document or collection in every copy of its store.
package struct UniqueID: Hashable, Comparable, Sendable {
  package static let byteCount = 16

  /// The bytes as two big-endian numbers.
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Zeros, which don't identify anything.
  static let none = UniqueID(high: 0, low: 0)

  /// Returns random bytes from the operating system.
  package static func random() throws(SealingError) -> UniqueID {
    let bytes = try SystemRandom.bytes(byteCount)
    return bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      return reader.uniqueID()!
    }
  }

  /// Creates an identity derived from a label and bytes.
  package init(hashing label: StaticString, _ bytes: [UInt8]) throws(StoreError) {
    var builder = ByteBuilder()
    builder.append(label: label)
    builder.append(bytes: bytes)
    let all = builder.bytes
    let digest = try translatingErrors { () throws(SealingError) in
      let hasher = try TextHasher()
      return try all.withBytes { bytes throws(SealingError) in try hasher.digest(of: bytes) }
    }
    var digestBytes = [UInt8](repeating: 0, count: TextDigest.byteCount)
    digestBytes.withUnsafeMutableBytes { digest.write(to: $0) }
    self = digestBytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      return reader.uniqueID()!
    }
  }

  package static func < (lhs: UniqueID, rhs: UniqueID) -> Bool {
    (lhs.high, lhs.low) < (rhs.high, rhs.low)
  }

  package var bytes: [UInt8] {
    var builder = ByteBuilder(reserving: Self.byteCount)
    builder.append(self)
    return builder.bytes
  }
}

extension UniqueID: Codable {
  /// Decodes 32 lowercase hexadecimal digits.
  ///
  /// - Throws: `DecodingError`.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let bytes = Hexadecimal.bytes(text[...]), bytes.count == Self.byteCount, Hexadecimal.text(bytes) == text
    else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not 32 lower-case hexadecimal digits")
    }
    func number(_ offset: Int) -> UInt64 { bytes[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: number(0), low: number(8))
  }

  /// Encodes 32 lowercase hexadecimal digits.
  ///
  /// - Throws: The encoder's errors.
  package func encode(to encoder: any Encoder) throws {
    try Hexadecimal.text(bytes).encode(to: encoder)
  }
}

extension ByteBuilder {
  package mutating func append(_ id: UniqueID) {
    append(id.high)
    append(id.low)
  }
}

extension ByteReader {
  package mutating func uniqueID() -> UniqueID? {
    guard let high: UInt64 = integer(), let low: UInt64 = integer() else { return nil }
    return UniqueID(high: high, low: low)
  }
}
