internal import CofferDocuments
internal import CofferSealing
internal import CofferText

/// The text of a document as it is indexed: itself, or of a stored value its strings, one a line.
final class IndexedText {
  @exclusivity(unchecked) private var bytes: [UInt8] = []

  /// - Parameter body: called with UTF-8 that is valid during the call.
  func with<R>(
    _ text: UnsafeRawBufferPointer, isValue: Bool, _ body: (UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    guard isValue, collectStrings(of: text) else { return try body(text) }
    return try bytes.withUnsafeBytes(body)
  }

  /// - Returns: false for a text that is no JSON value, which is searched like any other text.
  private func collectStrings(of json: UnsafeRawBufferPointer) -> Bool {
    bytes.removeAll(keepingCapacity: true)
    do throws(JSONError) {
      var walk = JSONStringWalk(json, withNames: false)
      while let string = try walk.nextString() {
        bytes += walk.scanner.value(of: string.token)
        bytes.append(UInt8(ascii: "\n"))
      }
      return true
    } catch {
      return false
    }
  }
}

/// Folds a text, scalar by scalar, to a form in which every search for a text finds what it finds in the text itself.
///
/// Two texts that a search with any options takes for equal have the same form, and the form of a part is a part of the
/// form. The form therefore leaves out marks, and iota, which is a mark in one spelling of some letters and a letter in
/// another.
final class SubstringFolding {
  @exclusivity(unchecked) private var bytes: [UInt8] = []
  private var known: [UInt32: [UInt8]] = [:]

  func with<R>(_ text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    bytes.removeAll(keepingCapacity: true)
    var place = 0
    while place < text.count {
      let byte = text[place]
      if byte < 0x80 {
        bytes.append(
          (0x41...0x5A).contains(byte) ? byte | 0x20 : byte == 0 ? Self.substitute : byte)
        place += 1
      } else {
        fold(Self.scalar(text, &place))
      }
    }
    return try bytes.withUnsafeBytes(body)
  }

  func folded(_ text: String) -> String {
    var text = text
    return text.withUTF8 { utf8 in with(UnsafeRawBufferPointer(utf8)) { String(decoding: $0, as: UTF8.self) } }
  }

  /// Replaces U+0000, which FTS5 takes for the end of a text.
  private static let substitute: UInt8 = 1
  private static let iota: UInt32 = 0x3B9

  private func fold(_ scalar: UInt32) {
    if let folded = known[scalar] {
      bytes += folded
      return
    }
    let folded = Self.folded(scalar)
    if known.count < 4096 { known[scalar] = folded }
    bytes += folded
  }

  private static func folded(_ scalar: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 2 * CanonicalForms.maximumParts) { buffer in
      let (parts, again) = (buffer.baseAddress!, buffer.baseAddress! + CanonicalForms.maximumParts)
      for part in 0..<CanonicalForms.shared.decompose(scalar, into: parts) {
        for lower in CaseFolding.folding(Unicode.Scalar(parts[part])!) {
          for index in 0..<CanonicalForms.shared.decompose(lower.value, into: again) {
            let last = Unicode.Scalar(again[index])!
            guard last.value != iota, !isMark(last) else { continue }
            bytes += UTF8.encode(last)!
          }
        }
      }
    }
    return bytes
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    default: false
    }
  }

  /// The scalar of valid UTF-8 at a place, which moves behind it.
  private static func scalar(_ text: UnsafeRawBufferPointer, _ place: inout Int) -> UInt32 {
    let first = UInt32(text[place])
    let count = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    var scalar = first & (0x7F >> UInt32(count))
    for offset in 1..<count { scalar = scalar << 6 | UInt32(text[place + offset] & 0x3F) }
    place += count
    return scalar
  }
}
