internal import CofferDocuments
package import CofferSealing
internal import CofferText

/// A decrypted head (FORMAT, "Head"), whose parts point to the decrypted bytes.
package struct HeadData {
  package var created: Int64
  package var modified: Int64
  /// The text's length in bytes, which must match the body.
  package var textCount: Int
  package var textDigest: TextDigest
  package var key: UnsafeRawBufferPointer?
  package var title: UnsafeRawBufferPointer?
  package var attributes: UnsafeRawBufferPointer
  /// The document's identity in all copies.
  package var uid: UniqueID
  /// The parent's identity, which also names a parent that isn't there.
  package var parent: UniqueID?
  /// The stored form of ``DocumentDots``.
  package var dots: UnsafeRawBufferPointer
  package var extensionPart: ExtensionPart
}

extension HeadData {
  /// The number of bytes that ``write(to:)`` writes.
  package var byteCount: Int {
    Self.firstCount + 1 + (key.map { 4 + $0.count } ?? 0) + 1 + (title.map { 4 + $0.count } ?? 0) + 4 + attributes.count
      + UniqueID.byteCount + 1 + (parent == nil ? 0 : UniqueID.byteCount) + dots.count + extensionPart.bytes.count
  }

  /// Writes i64 created || i64 modified || u64 text length || the text's digest || key || title || attributes || uid ||
  /// parent || dots || extension part. Each key, title and attributes value follows its length. Key, title and parent
  /// start with a byte that indicates whether they exist.
  package func write(to memory: UnsafeMutableRawBufferPointer) {
    memory.storeBytes(of: created.bigEndian, toByteOffset: 0, as: Int64.self)
    memory.storeBytes(of: modified.bigEndian, toByteOffset: 8, as: Int64.self)
    memory.storeBytes(of: UInt64(textCount).bigEndian, toByteOffset: 16, as: UInt64.self)
    textDigest.write(to: UnsafeMutableRawBufferPointer(rebasing: memory[24..<Self.firstCount]))
    var cursor = Self.firstCount
    func put(_ bytes: UnsafeRawBufferPointer) {
      memory.storeBytes(of: UInt32(bytes.count).bigEndian, toByteOffset: cursor, as: UInt32.self)
      UnsafeMutableRawBufferPointer(rebasing: memory[(cursor + 4)...]).copyMemory(from: bytes)
      cursor += 4 + bytes.count
    }
    func put(marked part: UnsafeRawBufferPointer?) {
      memory[cursor] = part == nil ? 0 : 1
      cursor += 1
      if let part { put(part) }
    }
    put(marked: key)
    put(marked: title)
    func put(_ id: UniqueID) {
      memory.storeBytes(of: id.high.bigEndian, toByteOffset: cursor, as: UInt64.self)
      memory.storeBytes(of: id.low.bigEndian, toByteOffset: cursor + 8, as: UInt64.self)
      cursor += UniqueID.byteCount
    }
    put(attributes)
    put(uid)
    memory[cursor] = parent == nil ? 0 : 1
    cursor += 1
    if let parent { put(parent) }
    UnsafeMutableRawBufferPointer(rebasing: memory[cursor...]).copyMemory(from: dots)
    cursor += dots.count
    UnsafeMutableRawBufferPointer(rebasing: memory[cursor...]).copyMemory(from: extensionPart.bytes)
  }

  /// Reads a head, or returns `nil` for invalid bytes.
  package init?(_ data: UnsafeRawBufferPointer) {
    guard data.count >= Self.fixedCount else { return nil }
    created = Int64(bitPattern: data.bigEndian64(at: 0))
    modified = Int64(bitPattern: data.bigEndian64(at: 8))
    guard Timestamp(millisecondsSince1970: created).isStorable, Timestamp(millisecondsSince1970: modified).isStorable
    else { return nil }
    let count = data.bigEndian64(at: 16)
    guard count <= UInt64(StoreFormat.maximumText) else { return nil }
    textCount = Int(count)
    textDigest = TextDigest(bytes: UnsafeRawBufferPointer(rebasing: data[24..<Self.firstCount]))
    var cursor = Self.firstCount
    guard Self.read(data, &cursor, into: &key), Self.read(data, &cursor, into: &title),
      let attributes = Self.bytes(data, &cursor), data.count - cursor >= UniqueID.byteCount + 1
    else { return nil }
    self.attributes = attributes
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: data[cursor...]))
    guard let uid = reader.uniqueID(), let hasParent: UInt8 = reader.integer(), hasParent <= 1 else { return nil }
    self.uid = uid
    if hasParent == 1 {
      guard let id = reader.uniqueID() else { return nil }
      parent = id
    }
    let start = data.count - reader.remaining
    guard DocumentDots.scan(&reader) else { return nil }
    let end = data.count - reader.remaining
    dots = UnsafeRawBufferPointer(rebasing: data[start..<end])
    guard let part = ExtensionPart(UnsafeRawBufferPointer(rebasing: data[end...]), of: .head) else { return nil }
    extensionPart = part
    guard title?.count ?? 0 <= StoreFormat.maximumTitle,
      data.count - (title?.count ?? 0) <= StoreFormat.maximumHeadWithoutTitle
    else { return nil }
    if let key { guard (1...DocumentKey.maximumByteCount).contains(key.count) else { return nil } }
    if let title { guard UTF8Validity.isValid(title) else { return nil } }
    guard Self.isObject(attributes) else { return nil }
  }

  /// Returns whether the bytes are a canonical JSON object, or empty, which are the only valid forms of attributes.
  package static func isObject(_ attributes: UnsafeRawBufferPointer) -> Bool {
    attributes.isEmpty
      || attributes.count > 2 && UTF8Validity.isValid(attributes) && Attributes.isCanonical(attributes)
  }

  /// The size of two dates, the text's length and its digest.
  private static let firstCount = 24 + TextDigest.byteCount
  /// The minimum length of a head, with these, three marks, a length, the identity, a dot and a mask.
  private static let fixedCount = firstCount + 3 + 4 + UniqueID.byteCount + 3

  /// Reads `u8 0`, or `u8 1 || u32 length || bytes`. Returns `false` for other bytes.
  private static func read(
    _ data: UnsafeRawBufferPointer, _ cursor: inout Int, into part: inout UnsafeRawBufferPointer?
  ) -> Bool {
    guard cursor < data.count else { return false }
    let mark = data[cursor]
    cursor += 1
    if mark == 0 {
      part = nil
      return true
    }
    guard mark == 1, let bytes = bytes(data, &cursor) else { return false }
    part = bytes
    return true
  }

  /// Reads `u32 length || bytes`.
  private static func bytes(_ data: UnsafeRawBufferPointer, _ cursor: inout Int) -> UnsafeRawBufferPointer? {
    guard data.count - cursor >= 4 else { return nil }
    let count = Int(data.bigEndian32(at: cursor))
    cursor += 4
    guard data.count - cursor >= count else { return nil }
    defer { cursor += count }
    return UnsafeRawBufferPointer(rebasing: data[cursor..<cursor + count])
  }
}

extension UnsafeRawBufferPointer {
  @inline(__always)
  fileprivate func bigEndian64(at offset: Int) -> UInt64 {
    UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  fileprivate func bigEndian32(at offset: Int) -> UInt32 {
    UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }
}
