import CofferFoundation
import CofferPlatform

/// A change of a file: its new length, and bytes at some offsets.
struct Edit {
  let length: Int
  let patches: [(offset: Int, bytes: [UInt8])]

  init?(_ line: String) {
    let words = line.split(separator: " ")
    guard let first = words.first, let length = Int(first) else { return nil }
    var patches: [(Int, [UInt8])] = []
    for word in words.dropFirst() {
      let parts = word.split(separator: ":")
      guard parts.count == 2, let offset = Int(parts[0]), let bytes = Self.bytes(parts[1]) else { return nil }
      patches.append((offset, bytes))
    }
    self.length = length
    self.patches = patches
  }

  private static func bytes(_ digits: Substring) -> [UInt8]? {
    let digits = Array(digits.utf8)
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
    }
    return bytes.count * 2 == digits.count ? bytes : nil
  }
}

/// The copy that is damaged and restored, alone in its directory.
struct WorkFile {
  struct Failed: Error {
    let call: String
    let number: Int32
  }

  let path: String
  private let directory: String
  private let original: [UInt8]
  private let descriptor: Int32

  init(copying store: String, into directory: String) throws {
    original = Array(try Data(contentsOf: URL(filePath: store)))
    self.directory = directory
    path = directory + "/damaged.coffer"
    descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failed(call: "open", number: errno) }
    try put(original[...], at: 0)
  }

  func make(_ edit: Edit) throws {
    for patch in edit.patches { try put(patch.bytes[...], at: patch.offset) }
    guard ftruncate(descriptor, edit.length) == 0 else { throw Failed(call: "ftruncate", number: errno) }
  }

  /// Restores the file.
  ///
  /// - Returns: forbidden traces of the reader: the names of files beside the copy, and "changed" for the copy itself.
  func undo(_ edit: Edit) throws -> [String] {
    var left: [String] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name != "damaged.coffer" {
      left.append(name)
      _ = unlink(directory + "/" + name)
    }
    if try content() == expected(edit) {
      for patch in edit.patches where patch.offset < original.count {
        try put(original[patch.offset..<min(patch.offset + patch.bytes.count, original.count)], at: patch.offset)
      }
      if edit.length < original.count { try put(original[edit.length...], at: edit.length) }
    } else {
      left.append("changed")
      try put(original[...], at: 0)
    }
    guard ftruncate(descriptor, original.count) == 0 else { throw Failed(call: "ftruncate", number: errno) }
    return left
  }

  private func expected(_ edit: Edit) -> [UInt8] {
    var bytes = original
    for patch in edit.patches {
      let end = patch.offset + patch.bytes.count
      if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
      bytes.replaceSubrange(patch.offset..<end, with: patch.bytes)
    }
    if edit.length > bytes.count { bytes += [UInt8](repeating: 0, count: edit.length - bytes.count) }
    bytes.removeLast(bytes.count - edit.length)
    return bytes
  }

  private func content() throws -> [UInt8] {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Failed(call: "fstat", number: errno) }
    let size = Int(status.st_size)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
    }
  }

  private func put(_ bytes: ArraySlice<UInt8>, at offset: Int) throws {
    let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    guard count == bytes.count else { throw Failed(call: "pwrite", number: errno) }
  }
}
