internal import CofferDocuments
package import CofferSealing

/// A signed note as specified by C2SP, which consists of a text, an empty line, and signature lines. It's readable, and
/// other tools can verify it (FORMAT, "Releases").
package struct SignedNote: Hashable, Sendable {
  /// The text with its last line ending.
  package let text: String
  /// The signatures in order.
  package let signatures: [Signature]

  /// A signature line. The first four bytes of its value identify the key.
  package struct Signature: Hashable, Sendable {
    package let name: String
    package let value: [UInt8]
  }

  package static let maximumByteCount = 8 << 10
  package static let maximumSignatureCount = 16

  /// Signs a text, which must not contain an empty line, and must end with a line ending.
  package init(signing text: String, as name: String, with secret: Secret) throws(SealingError) {
    let key = try Self.keyID(name, try Ed25519.publicKey(of: secret))
    self.text = text
    signatures = [Signature(name: name, value: key + (try Ed25519.sign(Array(text.utf8), with: secret)))]
  }

  /// Reads a note with at most `limit` bytes, or returns `nil` for other texts.
  package init?(_ note: String, limit: Int = maximumByteCount) {
    guard note.utf8.count <= limit, note.utf8.allSatisfy({ $0 == 0x0A || $0 >= 0x20 }),
      let end = Self.endOfText(Array(note.utf8))
    else { return nil }
    let bytes = Array(note.utf8)
    text = String(decoding: bytes[..<end], as: UTF8.self)
    var lines = bytes[(end + 1)...].split(separator: 0x0A, omittingEmptySubsequences: false)
    guard lines.popLast()?.isEmpty == true, (1...Self.maximumSignatureCount).contains(lines.count) else { return nil }
    var signatures: [Signature] = []
    for line in lines {
      guard let signature = Signature(line) else { return nil }
      signatures.append(signature)
    }
    self.signatures = signatures
  }

  /// Returns the offset of the last empty line.
  private static func endOfText(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 2 else { return nil }
    return bytes.indices.dropFirst().last { bytes[$0] == 0x0A && bytes[$0 - 1] == 0x0A }
  }

  /// The note with its signatures.
  package var description: String {
    text + "\n" + signatures.map { "\(Signature.mark)\($0.name) \(Self.base64($0.value))\n" }.joined()
  }

  /// Returns whether a key with this name signed the text, regardless of other signatures.
  package func isSigned(as name: String, by publicKey: [UInt8]) throws(SealingError) -> Bool {
    let id = try Self.keyID(name, publicKey)
    for signature in signatures where signature.name == name && signature.value.starts(with: id) {
      return try Ed25519.isValid(Array(signature.value.dropFirst(id.count)), of: Array(text.utf8), by: publicKey)
    }
    return false
  }

  /// Returns the key in the form of other signed note tools: `name+id+base64`.
  package static func verifierKey(_ name: String, _ publicKey: [UInt8]) throws(SealingError) -> String {
    let id = try keyID(name, publicKey)
    return "\(name)+\(Hexadecimal.text(id))+\(base64([algorithm] + publicKey))"
  }

  /// The number for Ed25519.
  private static let algorithm: UInt8 = 1

  /// Returns the first four bytes of SHA-256(name || LF || 1 || public key).
  private static func keyID(_ name: String, _ publicKey: [UInt8]) throws(SealingError) -> [UInt8] {
    Array(try sha256(Array(name.utf8) + [0x0A, algorithm] + publicKey).prefix(4))
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    bytes.withUnsafeBytes { Base64.append(encoding: $0, to: &text) }
    return String(decoding: text, as: UTF8.self)
  }
}

extension SignedNote.Signature {
  /// An em dash and a space.
  fileprivate static let mark = "\u{2014} "

  /// Reads a line without its line ending.
  fileprivate init?(_ line: ArraySlice<UInt8>) {
    guard line.starts(with: Self.mark.utf8) else { return nil }
    let parts = line.dropFirst(Self.mark.utf8.count).split(separator: 0x20, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[0].contains(UInt8(ascii: "+")),
      let name = String(validating: parts[0], as: UTF8.self)
    else { return nil }
    var value: [UInt8] = []
    guard Array(parts[1]).withUnsafeBytes({ Base64.append(decoding: $0, to: &value) }), value.count > 4 else {
      return nil
    }
    self.init(name: name, value: value)
  }
}
