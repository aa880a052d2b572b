internal import CofferSealing

/// What a head holds once it is open (FORMAT, "Head"); its parts point into the opened bytes.
struct HeadData {
  var created: Int64
  var modified: Int64
  /// Bytes of the text; must equal the body's.
  var textCount: Int
  var key: UnsafeRawBufferPointer?
  var title: UnsafeRawBufferPointer?
  var attributes: UnsafeRawBufferPointer

  /// Length of what ``write(to:)`` makes.
  var byteCount: Int {
    24 + 1 + (key.map { 4 + $0.count } ?? 0) + 1 + (title.map { 4 + $0.count } ?? 0) + 4 + attributes.count
  }

  /// i64 created || i64 modified || u64 text length || key || title || attributes, each of the last three with its
  /// length, the first two of them with a mark for being there.
  func write(to memory: UnsafeMutableRawBufferPointer) {
    var cursor = 0
    func put(_ value: some FixedWidthInteger) {
      memory.storeBytes(of: value.bigEndian, toByteOffset: cursor, as: type(of: value))
      cursor += MemoryLayout.size(ofValue: value)
    }
    func put(bytes: UnsafeRawBufferPointer) {
      put(UInt32(bytes.count))
      UnsafeMutableRawBufferPointer(rebasing: memory[cursor...]).copyMemory(from: bytes)
      cursor += bytes.count
    }
    put(created)
    put(modified)
    put(UInt64(textCount))
    for part in [key, title] {
      put(UInt8(part == nil ? 0 : 1))
      if let part { put(bytes: part) }
    }
    put(bytes: attributes)
  }

  init(
    created: Int64, modified: Int64, textCount: Int, key: UnsafeRawBufferPointer?, title: UnsafeRawBufferPointer?,
    attributes: UnsafeRawBufferPointer
  ) {
    self.created = created
    self.modified = modified
    self.textCount = textCount
    self.key = key
    self.title = title
    self.attributes = attributes
  }

  /// - Returns: nil for bytes that no writer makes.
  init?(_ data: UnsafeRawBufferPointer) {
    var reader = ByteReader(data)
    guard let created: Int64 = reader.integer(), let modified: Int64 = reader.integer(),
      let textCount: UInt64 = reader.integer(), textCount <= UInt64(StoreFormat.maximumText),
      let key = Self.part(&reader), let title = Self.part(&reader),
      let count: UInt32 = reader.integer(), let attributes = reader.bytes(Int(count)), reader.isAtEnd
    else { return nil }
    if let key { guard (1...ExternalKey.maximumByteCount).contains(key.count) else { return nil } }
    if let title { guard TextValidity.isUTF8(title) else { return nil } }
    if !attributes.isEmpty {
      guard attributes.count > 2, attributes.first == UInt8(ascii: "{"), attributes.last == UInt8(ascii: "}"),
        TextValidity.isUTF8(attributes)
      else { return nil }
    }
    self.init(
      created: created, modified: modified, textCount: Int(textCount), key: key, title: title, attributes: attributes)
  }

  /// `u8 0`, or `u8 1 || u32 length || bytes`; the outer nil is a part that is neither.
  private static func part(_ reader: inout ByteReader) -> UnsafeRawBufferPointer?? {
    guard let mark: UInt8 = reader.integer() else { return nil }
    switch mark {
    case 0: return .some(nil)
    case 1:
      guard let count: UInt32 = reader.integer(), let bytes = reader.bytes(Int(count)) else { return nil }
      return .some(bytes)
    default: return nil
    }
  }
}

/// Strict UTF-8, fast where it is ASCII.
enum TextValidity {
  static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index + 8 <= bytes.count,
      bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
    {
      index += 8
    }
    while index < bytes.count, bytes[index] < 0x80 { index += 1 }
    if index == bytes.count { return true }
    return isMixedUTF8(bytes, from: index)
  }

  /// The table of well-formed sequences of the Unicode standard (table 3-7).
  private static func isMixedUTF8(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Bool {
    var index = start
    let count = bytes.count
    func isTail(_ at: Int) -> Bool { at < count && bytes[at] & 0xC0 == 0x80 }
    while index < count {
      let lead = bytes[index]
      if lead < 0x80 {
        index += 1
      } else if lead < 0xC2 {
        return false
      } else if lead < 0xE0 {
        guard isTail(index + 1) else { return false }
        index += 2
      } else if lead < 0xF0 {
        guard isTail(index + 1), isTail(index + 2) else { return false }
        let second = bytes[index + 1]
        if lead == 0xE0, second < 0xA0 { return false }
        if lead == 0xED, second > 0x9F { return false }
        index += 3
      } else {
        guard lead < 0xF5, isTail(index + 1), isTail(index + 2), isTail(index + 3) else { return false }
        let second = bytes[index + 1]
        if lead == 0xF0, second < 0x90 { return false }
        if lead == 0xF4, second > 0x8F { return false }
        index += 4
      }
    }
    return true
  }
}
