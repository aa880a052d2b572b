internal import CCofferOpenSSL

/// The SHA-256 of a text, which its head contains (FORMAT, "Head"), or of the content of an attachment.
///
/// GCM's tag doesn't bind a text against a holder of the key, who can make another text with the same tag. The digest
/// does.
package struct TextDigest: Hashable, Sendable {
  package static let byteCount = 32

  private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

  /// Reads 32 bytes.
  package init(bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == Self.byteCount, "internal error: a digest has 32 bytes")
    withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
  }

  fileprivate init() {}

  /// Writes the 32 bytes.
  package func write(to memory: UnsafeMutableRawBufferPointer) {
    withUnsafeBytes(of: words) { memory.copyMemory(from: $0) }
  }

  /// The 32 bytes.
  package var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

  package static func == (lhs: TextDigest, rhs: TextDigest) -> Bool { lhs.words == rhs.words }

  package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }

  fileprivate mutating func withMemory(_ body: (UnsafeMutablePointer<UInt8>) -> Bool) -> Bool {
    withUnsafeMutableBytes(of: &words) { body($0.bindMemory(to: UInt8.self).baseAddress!) }
  }
}

/// Computes digests of texts, and of bytes that arrive in parts, with one context. Belongs to one thread at a time.
package final class TextHasher {
  private let context: OpaquePointer

  package init() throws(SealingError) {
    let algorithm = try Algorithms.sha256.pointer()
    guard let context = EVP_MD_CTX_new() else { throw .openSSL("a digest context") }
    self.context = context
    guard EVP_DigestInit_ex2(context, algorithm, nil) == 1 else { throw .openSSL("SHA-256") }
  }

  deinit {
    EVP_MD_CTX_free(context)
  }

  package func digest(of text: UnsafeRawBufferPointer) throws(SealingError) -> TextDigest {
    try begin()
    try update(text)
    return try finish()
  }

  /// Begins the digest of bytes that arrive in parts.
  package func begin() throws(SealingError) {
    guard EVP_DigestInit_ex2(context, nil, nil) == 1 else { throw .openSSL("SHA-256") }
  }

  package func update(_ bytes: UnsafeRawBufferPointer) throws(SealingError) {
    guard bytes.isEmpty || EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else {
      throw .openSSL("SHA-256")
    }
  }

  /// Returns the digest of the bytes since ``begin()``.
  package func finish() throws(SealingError) -> TextDigest {
    var digest = TextDigest()
    guard digest.withMemory({ EVP_DigestFinal_ex(context, $0, nil) == 1 }) else { throw .openSSL("SHA-256") }
    return digest
  }
}
