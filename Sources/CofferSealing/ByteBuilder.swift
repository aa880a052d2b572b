/// Bytes put together in the conventions of FORMAT: unsigned big-endian, i64 in two's complement.
package struct ByteBuilder {
  package private(set) var bytes: [UInt8] = []

  package init(reserving count: Int = 0) {
    bytes.reserveCapacity(count)
  }

  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  package mutating func append(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  package mutating func append(bytes more: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: more)
  }

  package mutating func append(bytes more: [UInt8]) {
    bytes.append(contentsOf: more)
  }

  /// A label of ASCII, then zeros up to `width`.
  package mutating func append(label: StaticString, width: Int = 0) {
    label.withUTF8Buffer { bytes.append(contentsOf: $0) }
    for _ in 0..<max(0, width - label.utf8CodeUnitCount) { bytes.append(0) }
  }
}

/// `PAE(x1..xn)`: how many parts, then the length and bytes of each, so that no two lists of parts look alike.
package struct PreAuthenticationEncoding {
  private var parts: [[UInt8]] = []

  package init(_ label: StaticString) {
    parts.append(label.withUTF8Buffer { Array($0) })
  }

  package init() {}

  package func adding(_ part: [UInt8]) -> Self {
    var copy = self
    copy.parts.append(part)
    return copy
  }

  package func adding(_ value: UInt32) -> Self {
    adding(withUnsafeBytes(of: value.bigEndian) { Array($0) })
  }

  package func adding(_ value: UInt64) -> Self {
    adding(withUnsafeBytes(of: value.bigEndian) { Array($0) })
  }

  package var bytes: [UInt8] {
    var builder = ByteBuilder()
    builder.append(UInt32(parts.count))
    for part in parts {
      builder.append(UInt32(part.count))
      builder.append(bytes: part)
    }
    return builder.bytes
  }
}

/// Reads what ``ByteBuilder`` wrote; nil past the end.
package struct ByteReader {
  private var rest: Slice<UnsafeRawBufferPointer>

  package init(_ bytes: UnsafeRawBufferPointer) {
    rest = bytes[...]
  }

  package var isAtEnd: Bool { rest.isEmpty }
  package var remaining: Int { rest.count }

  package mutating func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T? {
    let count = MemoryLayout<T>.size
    guard rest.count >= count else { return nil }
    let value = UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: T.self)
    rest = rest.dropFirst(count)
    return T(bigEndian: value)
  }

  package mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, rest.count >= count else { return nil }
    let part = UnsafeRawBufferPointer(rebasing: rest.prefix(count))
    rest = rest.dropFirst(count)
    return part
  }
}
