/// A typed passphrase: NFC UTF-8, untrimmed, not empty, without U+0000 (FORMAT, "Conventions").
package enum Passphrase {
  /// The longest passphrase in bytes; scrypt takes any, and a longer one is a file named by mistake.
  package static let maximumByteCount = 16 * 1024

  /// The form that keys are derived from. ASCII is in that form already; anything else is composed in secret memory.
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
    return isASCII ? typed : composed(typed)
  }

  /// NFC of valid UTF-8 (Unicode Standard Annex 15): decomposed, put in canonical order, composed.
  private static func composed(_ text: Secret) -> Secret {
    let scalarCount = text.withUnsafeBytes { bytes in bytes.count { $0 & 0xC0 != 0x80 } }
    let scalars = Secret(byteCount: 4 * CanonicalForms.maximumParts * scalarCount) { memory in
      let scalars = memory.bindMemory(to: UInt32.self)
      var count = text.withUnsafeBytes { decompose($0, into: scalars) }
      order(UnsafeMutableBufferPointer(rebasing: scalars[..<count]))
      count = compose(UnsafeMutableBufferPointer(rebasing: scalars[..<count]))
      return 4 * count
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

  private static func decompose(_ bytes: UnsafeRawBufferPointer, into scalars: UnsafeMutableBufferPointer<UInt32>)
    -> Int
  {
    var count = 0
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    while case .scalarValue(let scalar) = decoder.decode(&iterator) {
      count += CanonicalForms.shared.decompose(scalar.value, into: scalars.baseAddress! + count)
    }
    return count
  }

  /// Marks between two starters by rising class, equal ones as they were.
  private static func order(_ scalars: UnsafeMutableBufferPointer<UInt32>) {
    for index in scalars.indices.dropFirst() {
      let scalar = scalars[index]
      let combiningClass = CanonicalForms.combiningClass(scalar)
      guard combiningClass > 0 else { continue }
      var place = index
      while place > 0, CanonicalForms.combiningClass(scalars[place - 1]) > combiningClass {
        scalars[place] = scalars[place - 1]
        place -= 1
      }
      scalars[place] = scalar
    }
  }

  /// Composes in place: each scalar with the last starter, unless one between them blocks it.
  private static func compose(_ scalars: UnsafeMutableBufferPointer<UInt32>) -> Int {
    var used = 0
    var starter: Int?
    // The class of the last scalar behind the starter; nil if there is none.
    var last: UInt8?
    for index in scalars.indices {
      let scalar = scalars[index]
      let combiningClass = CanonicalForms.combiningClass(scalar)
      let isReachable = last.map { $0 < combiningClass } ?? true
      if let place = starter, isReachable, let composite = CanonicalForms.shared.composite(scalars[place], scalar) {
        scalars[place] = composite
        continue
      }
      scalars[used] = scalar
      if combiningClass == 0 {
        starter = used
        last = nil
      } else {
        last = combiningClass
      }
      used += 1
    }
    return used
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
