/// The SHA-256 of a text, which its head contains (FORMAT, "Head"), or of an attachment's content.
///
/// GCM's tag doesn't bind a text, because a holder of the key can create another text with the same tag. The digest
/// does.
package struct TextDigest: Hashable, Sendable {
  package static let byteCount = 32

  private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

  /// Reads 32 bytes.
  package init(bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == Self.byteCount, "internal error: a digest has 32 bytes")
    withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
  }

  /// Writes the 32 bytes.
  package func write(to memory: UnsafeMutableRawBufferPointer) {
    withUnsafeBytes(of: words) { memory.copyMemory(from: $0) }
  }

  /// The 32 bytes.
  package var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

  package static func == (lhs: TextDigest, rhs: TextDigest) -> Bool { lhs.words == rhs.words }

  package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }

  /// Creates a digest whose 32 bytes are filled by `body`.
  fileprivate init(_ body: (UnsafeMutableRawBufferPointer) throws(SealingError) -> Void) throws(SealingError) {
    let result: Result<Void, SealingError> = withUnsafeMutableBytes(of: &words) { words in
      Result { () throws(SealingError) in try body(words) }
    }
    try result.get()
  }
}

/// Computes digests of texts, and of bytes that arrive in parts, with one context. Belongs to one thread at a time.
package final class TextHasher {
  @exclusivity(unchecked) private var context: DigestContext

  package init() throws(SealingError) {
    context = try DigestContext()
  }

  package func digest(of text: UnsafeRawBufferPointer) throws(SealingError) -> TextDigest {
    try begin()
    try update(text)
    return try finish()
  }

  /// Begins a digest of bytes that arrive in parts.
  package func begin() throws(SealingError) {
    try context.begin()
  }

  package func update(_ bytes: UnsafeRawBufferPointer) throws(SealingError) {
    try context.update(bytes)
  }

  /// Returns the digest of the bytes since ``begin()``.
  package func finish() throws(SealingError) -> TextDigest {
    try TextDigest { memory throws(SealingError) in try context.finish(into: memory) }
  }
}

/// Returns the SHA-256 of a few bytes.
package func sha256(_ bytes: [UInt8]) throws(SealingError) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: TextDigest.byteCount)
  try digest.withMutableBytes { digest throws(SealingError) in
    try bytes.withBytes { bytes throws(SealingError) in try DigestContext.digest(of: bytes, into: digest) }
  }
  return digest
}
