internal import CofferPlatform

/// The end of a rollback journal, which names a super-journal if the transaction spanned several files.
///
/// SQLite checks whether the super-journal exists, and eventually deletes it, but an untrusted journal could name any
/// file. So Coffer checks the name and omits it from the copy.
enum RollbackJournal {
  /// The first eight bytes of a journal, and the last eight bytes after a super-journal's name.
  private static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
  /// A length above SQLite's longest path.
  private static let longestName = 4096

  /// Returns the number of journal bytes to copy, or 0 if the transaction was committed.
  static func usableByteCount(of file: FileDescriptor, byteCount: Int) throws(FormatError) -> Int {
    let tail = try file.bytes(at: max(0, byteCount - 16 - longestName), upTo: byteCount)
    guard tail.count > 16, tail.suffix(8).elementsEqual(magic) else { return byteCount }
    let numbers = Array(tail.suffix(16))
    let length = Int(bigEndian(numbers[0..<4]))
    guard length > 0, length <= tail.count - 16 else { return byteCount }
    let name = tail[(tail.count - 16 - length)..<(tail.count - 16)]
    let sum = name.reduce(UInt32(0)) { $0 &+ UInt32(truncatingIfNeeded: Int8(bitPattern: $1)) }
    guard sum == bigEndian(numbers[4..<8]) else { return byteCount }
    let path = String(decoding: name, as: UTF8.self)
    return access(path, F_OK) == 0 ? byteCount - 16 - length : 0
  }

  private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }
}

extension FileDescriptor {
  /// Returns the bytes between two offsets, or fewer if the file ends.
  fileprivate func bytes(at offset: Int, upTo end: Int) throws(FormatError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(0, end - offset))
    let count = bytes.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, offset) }
    guard count >= 0 else { throw .system(.unreadable, "cannot read the file") }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}
