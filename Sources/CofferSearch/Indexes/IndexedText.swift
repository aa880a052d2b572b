internal import CofferDocuments
internal import CofferEngine
internal import CofferSealing
internal import CofferText

/// A document's text to index. For a stored value, it contains the strings, one per line.
final class IndexedText {
  /// The members whose strings are indexed, or `nil` to index whole texts.
  private let members: [JSONPath]?
  @exclusivity(unchecked) private var bytes: [UInt8] = []

  /// - Parameter members: Valid paths.
  init(members: [String]? = nil) {
    self.members = members.map { $0.compactMap { JSONPath($0) } }
  }

  /// Calls `body` with UTF-8 bytes that are valid only during the call.
  func with<R>(
    _ text: UnsafeRawBufferPointer, isValue: Bool, _ body: (UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    bytes.removeAll(keepingCapacity: true)
    if let members {
      collectStrings(of: text, at: members)
    } else {
      guard isValue, collectStrings(of: text) else { return try body(text) }
    }
    return try bytes.withUnsafeBytes(body)
  }

  /// Collects the strings at and below some members. Texts that aren't JSON don't have members.
  private func collectStrings(of json: UnsafeRawBufferPointer, at members: [JSONPath]) {
    var scanner = JSONScanner(json)
    guard let document = try? scanner.scanDocument() else { return }
    var end = 0
    let places = members.compactMap { $0.find(in: json, document)?.range }
    // A member that contains another member begins before it, or ends after it.
    for place in places.sorted(by: { ($0.lowerBound, $1.upperBound) < ($1.lowerBound, $0.upperBound) })
    where place.lowerBound >= end {
      collectStrings(of: UnsafeRawBufferPointer(rebasing: json[place]))
      end = place.upperBound
    }
  }

  /// Collects a JSON value's strings, or returns `false` for other texts, which are indexed unchanged.
  @discardableResult
  private func collectStrings(of json: UnsafeRawBufferPointer) -> Bool {
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

/// A scalar-by-scalar folding to a form in which a search finds at least the matches in the original text.
///
/// Texts that are equal under any search options have the same form, and a substring's form is a substring of the form.
/// The form therefore omits marks, and iota, which is a mark in one spelling of some letters and a letter in another.
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

  /// The replacement for U+0000, at which FTS5 ends a text.
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

  /// Decodes the scalar at a position in valid UTF-8, and advances the position.
  private static func scalar(_ text: UnsafeRawBufferPointer, _ place: inout Int) -> UInt32 {
    let first = UInt32(text[place])
    let count = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    var scalar = first & (0x7F >> UInt32(count))
    for offset in 1..<count { scalar = scalar << 6 | UInt32(text[place + offset] & 0x3F) }
    place += count
    return scalar
  }
}
