internal import CofferPlatform
internal import CofferRecords
internal import CofferSealing

/// A file outside the store with the rows verified for a release, so opening the same state again doesn't read heads.
///
/// Keep the file in a trusted place, because anyone who can write the file decides which rows are opened.
struct ProofMemory {
  private static let title = Array("coffer-proof-1\n".utf8)

  let path: String

  /// Returns the file's rows, or `nil` if the file is missing or has another subject.
  ///
  /// - Parameter subject: The bytes that describe the proved state.
  /// - Throws: `locked` if the file is a store that's open in this process.
  func rows(of subject: [UInt8]) throws(StoreError) -> RowProof? {
    guard let (file, size) = try opened() else { return nil }
    let front = Self.title + (try Self.digest(of: subject))
    guard size >= front.count + 24, file.bytes(front.count, at: 0) == front else { return nil }
    var parts: [RowProof.Rows] = []
    var start = front.count
    for _ in 0..<3 {
      guard size - start >= 8, let length = file.bytes(8, at: start) else { return nil }
      let count = length.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
      start += 8
      guard count <= UInt64(size - start), let rows = RowFile(file, at: start, byteCount: Int(count)) else {
        return nil
      }
      parts.append(RowProof.Rows(rows))
      start += Int(count)
    }
    guard start == size else { return nil }
    return RowProof(documents: parts[0], collections: parts[1], attachments: parts[2])
  }

  /// Replaces the file.
  ///
  /// - Throws: `alreadyExists` for a file that's neither empty nor a proof.
  func remember(_ rows: RowProof, of subject: [UInt8]) throws(StoreError) {
    let file = StagedFile(path, replacesExisting: true)
    if let (old, size) = try opened(), size > 0, old.bytes(Self.title.count, at: 0) != Self.title {
      throw StoreError(
        .alreadyExists, "\(path) isn't a file that remembers a proof, and was left as it is", hint: "name another file")
    }
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

  private func opened() throws(StoreError) -> (file: RowFile.Descriptor, size: Int)? {
    // Closing a store's file would end the process's locks on it.
    if !RowFile.Descriptor.isOpen(at: path) { try FileLease.requireClosedInThisProcess(path) }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let file = RowFile.Descriptor(descriptor)
    return file.byteCount.map { (file, $0) }
  }
}

extension StagedFile {
  fileprivate func append(_ bytes: [UInt8]) throws(StoreError) {
    try bytes.withBytes { bytes throws(StoreError) in try append(bytes) }
  }
}
