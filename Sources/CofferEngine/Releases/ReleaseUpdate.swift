package import CofferRecords
package import CofferSealing

/// A file of a release folder that leads to a release, as the folder's index lists it (FORMAT, "Release folders").
package struct ReleaseUpdate: Hashable, Sendable {
  /// The release that the file leads from, or 0 if it has all documents.
  package var from: Int64
  /// The release that the file leads to.
  package var to: Int64
  /// Random bytes that the file's parts are bound to.
  package var identity: UniqueID
  /// The length of the payload.
  package var payloadCount: Int
  /// The proof that a key belongs to the release that the file leads to.
  package var commitment: [UInt8]
  /// The key of the release that the file leads from, encrypted with the key of the release that it leads to.
  package var earlier: [UInt8]?
  /// The length of the file, and its SHA-256.
  package var byteCount: Int
  package var digest: [UInt8]

  package init(
    from: Int64, to: Int64, identity: UniqueID, payloadCount: Int, commitment: [UInt8], earlier: [UInt8]?,
    byteCount: Int, digest: [UInt8]
  ) {
    (self.from, self.to, self.identity, self.payloadCount) = (from, to, identity, payloadCount)
    (self.commitment, self.earlier, self.byteCount, self.digest) = (commitment, earlier, byteCount, digest)
  }

  package var name: String { "\(from)-\(to).update" }

  // MARK: The line

  private static let title = "update"
  private static let none = "none"

  var line: String {
    [
      Self.title, "\(from)", "\(to)", Hexadecimal.text(identity.bytes), "\(payloadCount)",
      Hexadecimal.text(commitment), earlier.map { Hexadecimal.text($0) } ?? Self.none, "\(byteCount)",
      Hexadecimal.text(digest),
    ].joined(separator: " ")
  }

  /// Reads the line, or returns `nil` for a line that isn't exactly the line of an update.
  init?(_ line: Substring) {
    let words = line.split(separator: " ", omittingEmptySubsequences: false)
    func bytes(_ index: Int, _ counts: ClosedRange<Int>) -> [UInt8]? {
      Hexadecimal.bytes(words[index]).flatMap { counts.contains($0.count) ? $0 : nil }
    }
    guard words.count == 9, words[0] == Self.title, let from = Int64(words[1]), let to = Int64(words[2]), from >= 0,
      from < to, Release.numbers.contains(to), let identity = bytes(3, 16...16)?.withBytes({ Self.identity($0) }),
      let payloadCount = Int(words[4]), (1...Self.maximumByteCount).contains(payloadCount),
      let commitment = bytes(5, 32...32), let byteCount = Int(words[7]),
      (1...Self.maximumByteCount).contains(byteCount), let digest = bytes(8, 32...32)
    else { return nil }
    var earlier: [UInt8]?
    if words[6] != Self.none {
      let count = RootKey.byteCount + XAESKey.overhead
      guard let sealed = bytes(6, count...count) else { return nil }
      earlier = sealed
    }
    self.init(
      from: from, to: to, identity: identity, payloadCount: payloadCount, commitment: commitment, earlier: earlier,
      byteCount: byteCount, digest: digest)
    // Any other spelling of a value gives another line.
    guard self.line.utf8.elementsEqual(line.utf8) else { return nil }
  }

  private static let maximumByteCount = 1 << 48

  private static func identity(_ bytes: UnsafeRawBufferPointer) -> UniqueID? {
    var reader = ByteReader(bytes)
    return reader.uniqueID()
  }

  // MARK: Keys

  /// Returns the key of the file's parts.
  package func partsKey(under release: Secret) throws(SealingError) -> XAESKey {
    try XAESKey(hkdf(release, salt: identity.bytes, info: Array("coffer3/update-file".utf8)))
  }

  /// Seals the key of the release that the file leads from.
  package func seal(earlier key: Secret, under release: Secret) throws(SealingError) -> [UInt8] {
    try earlierKey(under: release).seal(key, authenticating: earlierBinding)
  }

  /// Opens the key of the release that the file leads from.
  ///
  /// - Throws: `damaged`.
  package func earlierKey(openedWith release: Secret) throws(StoreError) -> Secret? {
    guard let earlier else { return nil }
    do throws(SealingError) {
      return try earlierKey(under: release).openSecret(earlier, authenticating: earlierBinding)
    } catch {
      throw .unopened(error, StoreError(.damaged, "\(name): the key of release \(from) can't be opened"))
    }
  }

  /// The number of bytes of the sealed family key.
  package static let sealedFamilyByteCount = Keyring.familyByteCount + XAESKey.overhead

  /// Seals the family key for a file with all documents.
  package func seal(family: Secret, under release: Secret) throws(SealingError) -> [UInt8] {
    try familyKey(under: release).seal(family, authenticating: familyBinding)
  }

  /// Opens the family key of a file with all documents.
  ///
  /// - Throws: `damaged`.
  package func family(_ sealed: [UInt8], openedWith release: Secret) throws(StoreError) -> Secret {
    do throws(SealingError) {
      return try familyKey(under: release).openSecret(sealed, authenticating: familyBinding)
    } catch {
      throw .unopened(error, StoreError(.damaged, "\(name): the family key can't be opened"))
    }
  }

  private func familyKey(under release: Secret) throws(SealingError) -> XAESKey {
    try XAESKey(hkdf(release, salt: identity.bytes, info: Array("coffer3/update-family".utf8)))
  }

  private var familyBinding: [UInt8] { PreAuthenticationEncoding("coffer3/update-family").adding(UInt64(to)).bytes }

  private func earlierKey(under release: Secret) throws(SealingError) -> XAESKey {
    try XAESKey(hkdf(release, salt: identity.bytes, info: Array("coffer3/update-earlier".utf8)))
  }

  private var earlierBinding: [UInt8] {
    PreAuthenticationEncoding("coffer3/update-earlier").adding(UInt64(from)).adding(UInt64(to)).bytes
  }
}
