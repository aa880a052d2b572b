internal import CofferPlatform
internal import CofferRecords
internal import CofferSealing

/// A file outside the store that remembers which rows were proved to be a release's, so that opening the same state again
/// reads no heads.
///
/// It's only as trustworthy as its place. Whoever can write it decides which rows are opened.
struct ProofMemory {
  private static let title = Array("coffer-proof-1\n".utf8)
  private static let digestByteCount = 32

  let path: String

  /// Returns the remembered rows, or `nil` if the file is missing or is about anything else.
  ///
  /// - Parameter subject: The bytes that say what was proved.
  func rows(of subject: [UInt8]) throws(StoreError) -> RowProof? {
    guard let bytes = read() else { return nil }
    let front = Self.title + (try Self.digest(of: subject))
    guard bytes.count >= front.count + 24, bytes.starts(with: front) else { return nil }
    var parts: [RowProof.Rows] = []
    var start = front.count
    for _ in 0..<3 {
      guard bytes.count - start >= 8 else { return nil }
      let count = bytes.withUnsafeBytes {
        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: start, as: UInt64.self))
      }
      start += 8
      guard count <= UInt64(bytes.count - start), let rows = RowProof.Rows(bytes[start..<start + Int(count)]) else {
        return nil
      }
      parts.append(rows)
      start += Int(count)
    }
    guard start == bytes.count else { return nil }
    return RowProof(documents: parts[0], collections: parts[1], attachments: parts[2])
  }

  /// Replaces the file.
  func remember(_ rows: RowProof, of subject: [UInt8]) throws(StoreError) {
    let file = StagedFile(path, replacesExisting: true)
    try file.checkIsNoStore()
    try file.make()
    try file.discardingOnError { () throws(StoreError) in
      try file.append(Self.title + (try Self.digest(of: subject)))
      for part in [rows.documents, rows.collections, rows.attachments] {
        try file.append(withUnsafeBytes(of: UInt64(part.bytes.count).bigEndian) { Array($0) })
        try file.append(part.bytes)
      }
      try file.sync()
      try file.publish()
    }
  }

  private static func digest(of subject: [UInt8]) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in try sha256(subject) }
  }

  private func read() -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let size = Int(status.st_size)
    var isWhole = true
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { memory, count in
      while count < size {
        let more = CofferPlatform.read(descriptor, memory.baseAddress! + count, size - count)
        if more < 0, errno == EINTR { continue }
        guard more > 0 else {
          isWhole = false
          return
        }
        count += more
      }
    }
    return isWhole ? bytes : nil
  }
}

extension StagedFile {
  fileprivate func append(_ bytes: [UInt8]) throws(StoreError) {
    try bytes.withBytes { bytes throws(StoreError) in try append(bytes) }
  }
}
