internal import CofferPlatform

/// A builder for bytes from integers and text (FORMAT, "Conventions"). Integers are big-endian and unsigned, except for
/// i64 in two's complement.
///
/// This type and ``ByteReader`` don't use generic parameters, because they process every row. Other modules would call
/// the unspecialized form of a generic `package` function, which takes 50 ns for each integer.
package struct ByteBuilder {
  package private(set) var bytes: [UInt8] = []

  package init(reserving count: Int = 0) {
    bytes.reserveCapacity(count)
  }

  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// Overwrites the bytes, which may contain text. If bytes didn't fit into the reserved memory, copies remain.
  package mutating func wipe() {
    bytes.withUnsafeMutableBytes { bytes in
      if let start = bytes.baseAddress { coffer_wipe(start, bytes.count) }
    }
  }

  package mutating func append(_ value: UInt8) { bytes.append(value) }
  package mutating func append(_ value: UInt16) { appendBigEndian(value) }
  package mutating func append(_ value: UInt32) { appendBigEndian(value) }
  package mutating func append(_ value: UInt64) { appendBigEndian(value) }
  package mutating func append(_ value: Int64) { appendBigEndian(value) }

  package mutating func append(bytes more: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: more)
  }

  package mutating func append(bytes more: [UInt8]) {
    bytes.append(contentsOf: more)
  }

  /// Appends `count` bytes, which `write` fills.
  package mutating func append(_ count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
    let start = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: count))
    bytes.withUnsafeMutableBytes { write(UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
  }

  /// Appends an unsigned LEB128 number below 2^63 in its shortest form.
  package mutating func append(varint value: UInt64) {
    var value = value
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    bytes.append(UInt8(value))
  }

  /// Appends an ASCII label, followed by zeros up to `width`.
  package mutating func append(label: StaticString, width: Int = 0) {
    label.withUTF8Buffer { bytes.append(contentsOf: $0) }
    for _ in 0..<max(0, width - label.utf8CodeUnitCount) { bytes.append(0) }
  }

  @inline(__always)
  private mutating func appendBigEndian(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }
}

/// The encoding `PAE(x1..xn)`, which contains the number of parts, and each part's length and bytes, so different lists
/// of parts have different encodings.
package struct PreAuthenticationEncoding {
  private var builder = ByteBuilder()
  private var count: UInt32 = 0

  package init() {
    builder.append(count)
  }

  /// - Parameter parts: The number of bytes to reserve for the parts and their lengths.
  package init(_ label: StaticString, reserving parts: Int = 0) {
    builder = ByteBuilder(reserving: parts == 0 ? 0 : 8 + label.utf8CodeUnitCount + parts)
    builder.append(count)
    label.withUTF8Buffer { append(UnsafeRawBufferPointer($0)) }
  }

  package consuming func adding(_ part: [UInt8]) -> Self {
    part.withUnsafeBytes { append($0) }
    return self
  }

  package consuming func adding(_ text: String) -> Self {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    return self
  }

  package consuming func adding(_ value: UInt32) -> Self {
    withUnsafeBytes(of: value.bigEndian) { append($0) }
    return self
  }

  package consuming func adding(_ value: UInt64) -> Self {
    withUnsafeBytes(of: value.bigEndian) { append($0) }
    return self
  }

  /// Overwrites the encoding, whose parts may be text.
  package mutating func wipe() { builder.wipe() }

  private mutating func append(_ part: UnsafeRawBufferPointer) {
    count += 1
    builder.append(UInt32(part.count))
    builder.append(bytes: part)
  }

  /// Returns the encoded parts, or `nil` if the bytes aren't an encoding.
  package static func parts(of bytes: UnsafeRawBufferPointer) -> [[UInt8]]? {
    var reader = ByteReader(bytes)
    guard let count: UInt32 = reader.integer(), count <= reader.remaining / 4 else { return nil }
    var parts: [[UInt8]] = []
    for _ in 0..<count {
      guard let length: UInt32 = reader.integer(), let part = reader.bytes(Int(length)) else { return nil }
      parts.append(Array(part))
    }
    return reader.isAtEnd ? parts : nil
  }

  package var bytes: [UInt8] {
    var bytes = builder.bytes
    withUnsafeBytes(of: count.bigEndian) { bytes.replaceSubrange(..<4, with: $0) }
    return bytes
  }
}

/// A reader for bytes from ``ByteBuilder``. Reading past the end returns `nil`.
package struct ByteReader {
  private var rest: UnsafeRawBufferPointer

  package init(_ bytes: UnsafeRawBufferPointer) {
    rest = bytes
  }

  package var isAtEnd: Bool { rest.isEmpty }
  package var remaining: Int { rest.count }

  package mutating func integer(_ type: UInt8.Type = UInt8.self) -> UInt8? { bigEndian() }
  package mutating func integer(_ type: UInt16.Type = UInt16.self) -> UInt16? { bigEndian() }
  package mutating func integer(_ type: UInt32.Type = UInt32.self) -> UInt32? { bigEndian() }
  package mutating func integer(_ type: UInt64.Type = UInt64.self) -> UInt64? { bigEndian() }
  package mutating func integer(_ type: Int64.Type = Int64.self) -> Int64? { bigEndian() }

  /// Returns the next unsigned LEB128 number, or `nil` unless it's below 2^63 and in its shortest form.
  package mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while shift < 63, let byte = rest.first {
      rest = UnsafeRawBufferPointer(rebasing: rest[1...])
      value |= UInt64(byte & 0x7f) << shift
      // The shortest form doesn't end with a zero byte.
      if byte < 0x80 { return byte == 0 && shift > 0 ? nil : value }
      shift += 7
    }
    return nil
  }

  package mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, rest.count >= count else { return nil }
    let part = UnsafeRawBufferPointer(rebasing: rest[..<count])
    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    return part
  }

  @inline(__always)
  private mutating func bigEndian<T: FixedWidthInteger & BitwiseCopyable>() -> T? {
    guard let part = bytes(MemoryLayout<T>.size) else { return nil }
    return T(bigEndian: part.loadUnaligned(as: T.self))
  }
}
