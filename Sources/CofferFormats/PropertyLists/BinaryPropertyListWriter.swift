internal import CofferDocuments
internal import CofferPropertyLists

/// A writer for a binary property list. It writes objects in the order of appending, followed by their offset table.
///
/// References have four bytes, because the number of objects is unknown when the first references are written.
struct BinaryPropertyListWriter<Output: ByteSink>: Sendable {
  private(set) var output: EncodedOutput<Output>
  /// The offset of each object.
  private var offsets: [UInt64] = []
  /// Bytes already passed to the sink.
  private var written: UInt64 = 0
  /// A cache of written keys, limited in size, because most tables have few keys.
  private var keys: [[UInt8]: UInt32] = [:]
  private static var mostKeys: Int { 256 }

  init(_ sink: Output) {
    output = EncodedOutput(sink)
  }

  mutating func begin() throws(FormatError) {
    output.buffer += "bplist00".utf8
  }

  mutating func append(_ text: String) throws(FormatError) -> UInt32 {
    let bytes = Array(text.utf8)
    let result: Result<UInt32, FormatError> = bytes.withUnsafeBytes { utf8 in
      do throws(FormatError) {
        return .success(try append(utf8: utf8))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Appends a string, in ASCII if possible, or otherwise in big-endian UTF-16.
  mutating func append(utf8 text: UnsafeRawBufferPointer) throws(FormatError) -> UInt32 {
    let object = try beginObject()
    let (scalars, astral) = text.scalarCounts()
    if scalars == text.count, !text.contains(where: { $0 >= 0x80 }) {
      appendMarker(0x50, count: text.count)
      try appendPieces(of: text) { $1.append(contentsOf: $0) }
    } else {
      appendMarker(0x60, count: scalars + astral)
      try appendPieces(of: text) { Self.appendUTF16($0, to: &$1) }
    }
    return object
  }

  /// Appends a string that's likely to recur.
  mutating func append(key: [UInt8]) throws(FormatError) -> UInt32 {
    if let object = keys[key] { return object }
    let object = try append(String(decoding: key, as: UTF8.self))
    if keys.count < Self.mostKeys { keys[key] = object }
    return object
  }

  mutating func append(data: [UInt8]) throws(FormatError) -> UInt32 {
    let object = try beginObject()
    appendMarker(0x40, count: data.count)
    output.buffer += data
    try flush()
    return object
  }

  /// - Parameter integer: An integer that fits `Int64` or `UInt64`. Integers beyond `Int64` take 16 bytes.
  mutating func append(integer: Int128) throws(FormatError) -> UInt32 {
    let object = try beginObject()
    if let small = UInt8(exactly: integer) {
      output.buffer += [0x10, small]
    } else if let word = Int64(exactly: integer) {
      output.buffer.append(0x13)
      append(UInt64(bitPattern: word), size: 8)
    } else {
      output.buffer.append(0x14)
      append(UInt64(truncatingIfNeeded: integer >> 64), size: 8)
      append(UInt64(truncatingIfNeeded: integer), size: 8)
    }
    return object
  }

  mutating func append(real: Double) throws(FormatError) -> UInt32 {
    let object = try beginObject()
    output.buffer.append(0x23)
    append(real.bitPattern, size: 8)
    return object
  }

  mutating func append(date: Timestamp) throws(FormatError) -> UInt32 {
    let object = try beginObject()
    output.buffer.append(0x33)
    append(date.secondsSince2001.bitPattern, size: 8)
    return object
  }

  mutating func append(bool: Bool) throws(FormatError) -> UInt32 {
    let object = try beginObject()
    output.buffer.append(bool ? 0x09 : 0x08)
    return object
  }

  mutating func append(array elements: [UInt32]) throws(FormatError) -> UInt32 {
    let object = try beginObject()
    appendMarker(0xA0, count: elements.count)
    try append(references: elements)
    return object
  }

  mutating func append(keys: [UInt32], values: [UInt32]) throws(FormatError) -> UInt32 {
    let object = try beginObject()
    appendMarker(0xD0, count: keys.count)
    try append(references: keys)
    try append(references: values)
    return object
  }

  /// Appends the offset table and the trailer.
  mutating func finish(top: UInt32) throws(FormatError) {
    let table = position
    let size = max(1, (64 - table.leadingZeroBitCount + 7) / 8)
    for offset in offsets {
      append(offset, size: size)
      try flush()
    }
    output.buffer += [0, 0, 0, 0, 0, 0, UInt8(size), 4]
    append(UInt64(offsets.count), size: 8)
    append(UInt64(top), size: 8)
    append(table, size: 8)
    try output.finish()
  }

  private var position: UInt64 { written + UInt64(output.buffer.count) }

  private mutating func beginObject() throws(FormatError) -> UInt32 {
    guard let number = UInt32(exactly: offsets.count) else {
      throw FormatError(.unencodable, "more objects than a property list can refer to here")
    }
    offsets.append(position)
    return number
  }

  /// Appends an object's kind and count. A count of 15 or more follows as an integer.
  private mutating func appendMarker(_ kind: UInt8, count: Int) {
    if count < 15 {
      output.buffer.append(kind | UInt8(count))
    } else {
      let power = count <= 0xFF ? 0 : count <= 0xFFFF ? 1 : count <= 0xFFFF_FFFF ? 2 : 3
      output.buffer += [kind | 0xF, 0x10 | UInt8(power)]
      append(UInt64(count), size: 1 << power)
    }
  }

  private mutating func append(references: [UInt32]) throws(FormatError) {
    for reference in references {
      append(UInt64(reference), size: 4)
      try flush()
    }
  }

  private mutating func append(_ value: UInt64, size: Int) {
    for index in (0..<size).reversed() {
      output.buffer.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index)))
    }
  }

  /// Writes a long text in pieces that end between characters.
  private mutating func appendPieces(
    of text: UnsafeRawBufferPointer, with transform: (UnsafeRawBufferPointer, inout [UInt8]) -> Void
  ) throws(FormatError) {
    var start = 0
    while start < text.count {
      var end = min(start + EncodedOutput<Output>.pieceSize, text.count)
      while end < text.count, text[end] & 0xC0 == 0x80 { end -= 1 }
      transform(UnsafeRawBufferPointer(rebasing: text[start..<end]), &output.buffer)
      start = end
      try flush()
    }
  }

  private mutating func flush() throws(FormatError) {
    let count = output.buffer.count
    try output.writeIfFull()
    written += UInt64(count - output.buffer.count)
  }

  private static func appendUTF16(_ text: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    for unit in String(decoding: text, as: UTF8.self).utf16 {
      output.append(UInt8(unit >> 8))
      output.append(UInt8(truncatingIfNeeded: unit))
    }
  }
}
