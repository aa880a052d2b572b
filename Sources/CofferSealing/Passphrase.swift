internal import CofferText

/// Passphrases, which are NFC UTF-8, untrimmed, not empty, and don't contain U+0000 (FORMAT, "Conventions").
package enum Passphrase {
  /// The maximum length of a passphrase in bytes. Longer input is probably a wrong file. scrypt itself doesn't have a
  /// limit.
  package static let maximumByteCount = 16 * 1024

  /// Returns the form for key derivation. ASCII is already in this form, and other text is composed in secret memory.
  ///
  /// - Throws: `misplacedSecret` for a key line, a byte order mark or UTF-16, or `invalidPassphrase`.
  package static func normalized(_ typed: Secret) throws(SealingError) -> Secret {
    guard typed.count > 0 else { throw SealingError(.invalidPassphrase, "the passphrase is empty") }
    if let fault = SecretForm(of: typed).passphraseFault {
      throw SealingError(.misplacedSecret, "the passphrase \(fault)")
    }
    guard typed.count <= maximumByteCount else {
      throw SealingError(.invalidPassphrase, "the passphrase is longer than \(maximumByteCount) bytes")
    }
    let isValid = typed.withUnsafeBytes { bytes in
      !bytes.contains(0) && UTF8Check.isValid(bytes)
    }
    guard isValid else { throw SealingError(.invalidPassphrase, "the passphrase is not UTF-8 text without U+0000") }
    let isASCII = typed.withUnsafeBytes { $0.allSatisfy { $0 < 0x80 } }
    return isASCII ? typed : composed(typed)
  }

  /// Returns valid UTF-8 in NFC (Unicode Standard Annex 15), by decomposing, ordering and composing it.
  private static func composed(_ text: Secret) -> Secret {
    let scalarCount = text.withUnsafeBytes { bytes in bytes.count { $0 & 0xC0 != 0x80 } }
    let scalars = Secret(byteCount: 4 * CanonicalForms.maximumParts * scalarCount) { memory in
      let scalars = memory.bindMemory(to: UInt32.self)
      return 4 * text.withUnsafeBytes { NormalizationFormC.normalize($0, into: scalars) }
    }
    return scalars.withUnsafeBytes { memory in
      let scalars = memory.bindMemory(to: UInt32.self)
      return Secret(byteCount: 4 * scalars.count) { target in
        var used = 0
        for scalar in scalars {
          for byte in UTF8.encode(Unicode.Scalar(scalar)!)! {
            target[used] = byte
            used += 1
          }
        }
        return used
      }
    }
  }

  /// Returns the passphrase without the single line ending from a file or a command's output.
  package static func droppingLineEnd(_ read: Secret) -> Secret {
    let count = read.withUnsafeBytes { bytes in
      guard bytes.last == 0x0A else { return bytes.count }
      return bytes.count >= 2 && bytes[bytes.count - 2] == 0x0D ? bytes.count - 2 : bytes.count - 1
    }
    return count == read.count ? read : read.slice(0..<count)
  }
}

enum UTF8Check {
  static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    while true {
      switch decoder.decode(&iterator) {
      case .scalarValue: continue
      case .emptyInput: return true
      case .error: return false
      }
    }
  }
}
