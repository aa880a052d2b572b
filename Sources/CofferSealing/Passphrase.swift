@_spi(_Unicode) internal import Swift

/// What a person types: NFC UTF-8, untrimmed, not empty, without U+0000 (FORMAT, "Conventions").
package enum Passphrase {
  /// The longest passphrase in bytes; scrypt takes any, and a longer one is a file named by mistake.
  package static let maximumByteCount = 16 * 1024

  /// The form that keys are derived from.
  ///
  /// ASCII is in that form already and is checked in place. Anything else passes, from one ASCII character to the
  /// next, through Strings that the standard library normalises; up to 15 bytes those stand in registers, not on the
  /// heap.
  package static func normalized(_ typed: Secret) throws(SealingError) -> Secret {
    guard typed.count > 0 else { throw SealingError(.invalidPassphrase, "the passphrase is empty") }
    guard typed.count <= maximumByteCount else {
      throw SealingError(.invalidPassphrase, "the passphrase is longer than \(maximumByteCount) bytes")
    }
    let isValid = typed.withUnsafeBytes { bytes in
      !bytes.contains(0) && UTF8Check.isValid(bytes)
    }
    guard isValid else { throw SealingError(.invalidPassphrase, "the passphrase is not UTF-8 text without U+0000") }
    let isASCII = typed.withUnsafeBytes { $0.allSatisfy { $0 < 0x80 } }
    if isASCII { return typed }
    // NFC of valid text is at most three times as long.
    return typed.withUnsafeBytes { bytes in
      Secret(byteCount: 3 * bytes.count) { memory in
        var used = 0
        var start = 0
        while start < bytes.count {
          var end = start + 1
          while end < bytes.count, bytes[end] >= 0x80 { end += 1 }
          for scalar in String(decoding: bytes[start..<end], as: UTF8.self)._nfc {
            for byte in UTF8.encode(scalar)! {
              memory[used] = byte
              used += 1
            }
          }
          start = end
        }
        return used
      }
    }
  }

  /// Drops the one line end that a file or a command's output carries.
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
