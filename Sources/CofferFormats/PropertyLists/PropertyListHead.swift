internal import CofferPropertyLists
internal import CofferText

/// A property list's first bytes, which determine its form and encoding.
struct PropertyListHead {
  /// The number of bytes, which is enough for any XML declaration.
  static let byteCount = 1024

  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isBinary: Bool { PropertyList.isBinary(bytes) }

  /// A Boolean value that indicates whether the bytes are an NSArchiver archive, which isn't a property list.
  var isTypedStream: Bool {
    bytes.starts(with: [0x04, 0x0B]) && ["streamtyped", "typedstream"].contains { bytes[2...].starts(with: $0.utf8) }
  }

  /// Returns the XML encoding: the given encoding, otherwise the byte order mark's, otherwise the declaration's.
  ///
  /// - Throws: `undecodable` if the declared encoding isn't supported or contradicts the bytes.
  func encoding(given: EncodingChoice) throws(FormatError) -> EncodingChoice {
    guard case .automatic = given, !isBinary else { return given }
    // XML begins with `<`, which UTF-16 writes with a zero on one side, followed by another such character.
    switch bytes.prefix(4).map({ $0 == 0 }) {
    case [false, true, false, true] where bytes[0] == UInt8(ascii: "<"): return .fixed(.utf16LittleEndian)
    case [true, false, true, false] where bytes[1] == UInt8(ascii: "<"): return .fixed(.utf16BigEndian)
    default: break
    }
    guard bytes.starts(with: "<?xml".utf8), let name = declaredEncoding else { return given }
    switch name {
    case "utf-8", "utf8", "us-ascii", "ascii": return .automatic
    default: break
    }
    guard let encoding = TextEncoding(rawValue: name), !encoding.isUTF16 else {
      throw FormatError(
        .undecodable, "the XML declaration names an encoding that is not read, or that the bytes are not in",
        at: InputLocation(line: 1, column: 1, byteOffset: 0))
    }
    return .fixed(encoding)
  }

  /// The declaration's value of `encoding`, in lowercase.
  private var declaredEncoding: String? {
    let word = Array("encoding".utf8)
    let declaration = bytes.prefix { $0 != UInt8(ascii: ">") }
    // The XML reader reports a truncated declaration as a different error.
    guard declaration.count < bytes.count,
      let place = declaration.indices.first(where: { declaration[$0...].starts(with: word) })
    else { return nil }
    let quoted = declaration[(place + word.count)...].drop { $0 != Byte.quote && $0 != UInt8(ascii: "'") }
    guard let quote = quoted.first else { return nil }
    return String(decoding: quoted.dropFirst().prefix { $0 != quote }, as: UTF8.self).lowercased()
  }
}

extension TextEncoding {
  fileprivate var isUTF16: Bool { self == .utf16LittleEndian || self == .utf16BigEndian }
}
