/// The form of bytes that were passed as a secret, which consists of their encoding and the line that they contain.
///
/// Only this type decides whether bytes can be a passphrase, and why a file isn't a key file. It finds lines at any
/// position, including lines in UTF-16 and UTF-32, in quotes, in uppercase, and with a word processor's dashes.
package struct SecretForm {
  /// A kind of line that can't be a passphrase.
  package enum Line: CaseIterable, Sendable {
    case key, identity, recipient, signing, publisher, pin, anchor, ageIdentity, ageRecipient

    /// The line with its article.
    package var name: String {
      switch self {
      case .key: "a key"
      case .identity: "an identity"
      case .recipient: "a recipient"
      case .signing: "a signing key"
      case .publisher: "a publisher"
      case .pin: "a pin"
      case .anchor: "an anchor"
      case .ageIdentity: "an identity of age"
      case .ageRecipient: "a recipient of age"
      }
    }
  }

  /// A text encoding, as far as the bytes indicate it.
  package enum Encoding: Sendable {
    /// ASCII or UTF-8, or bytes that aren't text.
    case plain
    /// UTF-8 with a byte order mark.
    case marked
    case utf16, utf32

    /// The fault in a text that should be UTF-8 without a byte order mark.
    package var fault: String? {
      switch self {
      case .plain: nil
      case .marked: "begins with a byte order mark (U+FEFF)"
      case .utf16: "is saved as UTF-16"
      case .utf32: "is saved as UTF-32"
      }
    }
  }

  /// The first line, or `nil` if the bytes don't contain a line.
  package let line: Line?
  package let encoding: Encoding

  package init(of secret: Secret) {
    (line, encoding) = secret.withUnsafeBytes { bytes in
      let layout = Layout(marking: bytes)
      for each in layout.map({ [$0] }) ?? Layout.possible(bytes) {
        let found = LineSearch.line(in: each.reduced(bytes))
        if layout != nil || found != nil { return (found, each.encoding) }
      }
      return (nil, Layout.guessed(bytes).encoding)
    }
  }

  /// The reason that these bytes can't be a passphrase, or `nil` if they can.
  package var passphraseFault: String? {
    if let line {
      return "holds \(line.name)" + (encoding.fault.map { ", and \($0)" } ?? "")
    }
    return encoding.fault
  }
}

/// The layout of a text's scalars in bytes.
private struct Layout: Equatable {
  /// The size of a unit in bytes, which is 1 for UTF-8.
  var width = 1
  var isBigEndian = false
  /// The first unit's offset in bytes.
  var start = 0
  var isMarked = false

  var encoding: SecretForm.Encoding {
    switch width {
    case 1: isMarked ? .marked : .plain
    case 2: .utf16
    default: .utf32
    }
  }

  /// Creates the layout for a byte order mark, or returns `nil` without a mark.
  init?(marking bytes: UnsafeRawBufferPointer) {
    let marks: [([UInt8], Layout)] = [
      ([0xFF, 0xFE, 0, 0], Layout(width: 4)), ([0, 0, 0xFE, 0xFF], Layout(width: 4, isBigEndian: true)),
      ([0xFF, 0xFE], Layout(width: 2)), ([0xFE, 0xFF], Layout(width: 2, isBigEndian: true)),
      ([0xEF, 0xBB, 0xBF], Layout()),
    ]
    guard let (mark, layout) = marks.first(where: { bytes.starts(with: $0.0) }) else { return nil }
    self = layout
    (start, isMarked) = (mark.count, true)
  }

  init(width: Int = 1, isBigEndian: Bool = false, start: Int = 0) {
    (self.width, self.isBigEndian, self.start) = (width, isBigEndian, start)
  }

  /// Returns the layouts to search without a byte order mark. In wide ASCII units, some bytes are 0.
  static func possible(_ bytes: UnsafeRawBufferPointer) -> [Layout] {
    guard bytes.contains(0) else { return [Layout()] }
    var layouts = [Layout()]
    for width in [2, 4] {
      for start in 0..<width {
        layouts += [false, true].map { Layout(width: width, isBigEndian: $0, start: start) }
      }
    }
    return layouts
  }

  /// Returns the layout of a text without a line, which is the wide layout that best matches the zeros, if three
  /// quarters of the bytes match.
  static func guessed(_ bytes: UnsafeRawBufferPointer) -> Layout {
    func fitting(_ layout: Layout) -> Int {
      let low = layout.isBigEndian ? layout.width - 1 : 0
      return bytes.indices.count { ($0 % layout.width == low) == (bytes[$0] != 0) }
    }
    let wide = possible(bytes).filter { $0.width > 1 && $0.start == 0 && bytes.count % $0.width == 0 }
    guard bytes.count >= 4, let best = wide.max(by: { fitting($0) < fitting($1) }), 4 * fitting(best) >= 3 * bytes.count
    else { return Layout() }
    return best
  }

  /// Returns one byte for each scalar: ASCII in lowercase, a dash for all dashes, and 0xFF for other scalars. Omits
  /// invisible scalars.
  func reduced(_ bytes: UnsafeRawBufferPointer) -> Secret {
    Secret(byteCount: bytes.count) { memory in
      var (used, at) = (0, start)
      while let (scalar, next) = scalar(in: bytes, at: at) {
        if let byte = Self.reduced(scalar) {
          memory[used] = byte
          used += 1
        }
        at = next
      }
      return used
    }
  }

  private func scalar(in bytes: UnsafeRawBufferPointer, at: Int) -> (UInt32, next: Int)? {
    guard at + width <= bytes.count else { return nil }
    guard width == 1 else {
      let unit = (0..<width).reduce(0 as UInt32) { $0 << 8 | UInt32(bytes[at + (isBigEndian ? $1 : width - 1 - $1)]) }
      return (unit, at + width)
    }
    // Skip invalid UTF-8 byte by byte, because it can't be part of a line.
    let first = bytes[at]
    let count = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard count > 1, at + count <= bytes.count else { return (UInt32(first), at + 1) }
    let rest = bytes[at + 1..<at + count]
    guard rest.allSatisfy({ $0 & 0xC0 == 0x80 }) else { return (UInt32(first), at + 1) }
    return (rest.reduce(UInt32(first) & (0x7F >> UInt32(count))) { $0 << 6 | UInt32($1) & 0x3F }, at + count)
  }

  private static func reduced(_ scalar: UInt32) -> UInt8? {
    switch scalar {
    case 0x41...0x5A: UInt8(scalar) + 0x20
    case 0...0x7F: UInt8(scalar)
    // These are East Asian width forms.
    case 0xFF01...0xFF5E: reduced(scalar - 0xFEE0)
    case 0x2010...0x2015, 0x2212, 0xFE58, 0xFE63: UInt8(ascii: "-")
    case 0xAD, 0x200B...0x200F, 0x2060...0x2064, 0xFEFF: nil
    default: 0xFF
    }
  }
}

/// A search for lines in reduced text.
private struct LineSearch {
  let bytes: UnsafeRawBufferPointer
  var at: Int

  static func line(in text: Secret) -> SecretForm.Line? {
    text.withUnsafeBytes { bytes in
      for start in bytes.indices where bytes[start] == UInt8(ascii: "c") || bytes[start] == UInt8(ascii: "a") {
        var search = LineSearch(bytes: bytes, at: start)
        if let line = search.line() { return line }
      }
      return nil
    }
  }

  private mutating func line() -> SecretForm.Line? {
    let start = at
    if take("age-secret-key-") || take("age-plugin-") { return .ageIdentity }
    let isWordStart = start == 0 || !Self.isLetterOrDigit(bytes[start - 1])
    if isWordStart, take("age1"), run(Self.isLetterOrDigit) >= 58 { return .ageRecipient }
    at = start
    if take("coffer3:"), run(Self.isHexDigit) >= 32 { return .anchor }
    at = start
    guard take("coffer-") else { return nil }
    _ = take("test-")
    let kinds: [(StaticString, SecretForm.Line)] = [
      ("key-", .key), ("identity-", .identity), ("recipient-", .recipient), ("signing-", .signing),
      ("publisher-", .publisher), ("pin-", .pin),
    ]
    guard let (_, line) = kinds.first(where: { take($0.0) }), run(Self.isDigit) > 0, take("-") else { return nil }
    return line
  }

  /// Skips a word if it's at the current position. A dash in the word may be followed by a line break or spaces.
  private mutating func take(_ word: StaticString) -> Bool {
    let start = at
    for index in 0..<word.utf8CodeUnitCount {
      let byte = word.utf8Start[index]
      guard at < bytes.count, bytes[at] == byte else {
        at = start
        return false
      }
      at += 1
      if byte == UInt8(ascii: "-") { _ = run { $0 == 0x20 || (0x09...0x0D).contains($0) } }
    }
    return true
  }

  /// Skips the matching bytes, and returns their number.
  private mutating func run(_ fits: (UInt8) -> Bool) -> Int {
    let start = at
    while at < bytes.count, fits(bytes[at]) { at += 1 }
    return at - start
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func isHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(byte) }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x7A).contains(byte) }
}
